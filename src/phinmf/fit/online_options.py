"""From the arguments of `tl_nmf` and `TLNMF` to a fit that learns block by block."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays, checks, penalties
from phinmf._types import Array, Components, Fixed, RandomState
from phinmf.fit.automatic import AUTO, checked_components
from phinmf.fit.description import init_label, label, object_label, seed_of
from phinmf.fit.given import fixed_parts
from phinmf.fit.online import OnlineFit
from phinmf.fit.options import FitOptions
from phinmf.result.terms import divergence_label

FORGET_FACTOR = 0.95  #: default
BLOCK = 2  #: default size of a block, as a multiple of M


def online_fit(
    first: Array,
    n_components: Components,
    options: FitOptions,
    *,
    W: ArrayLike | None = None,
    fixed: Fixed = None,
    forget_factor: float = FORGET_FACTOR,
    block_size: int | None = None,
    random_state: RandomState = None,
) -> OnlineFit:
    """Check the arguments; arrays will be like the frames `first` (C, M, n)."""
    M = first.shape[1]
    K = checked_components(n_components)
    given = arrays.zeros((M, 0), first, np.float64)
    if W is not None:
        shape = checks.real_array("W", W).shape
        n = shape[1] if len(shape) == 2 else 1
        n = n if K == AUTO else min(n, K)
        given = arrays.like(checks.factor("W", W, (M, n), np.float64), first)
    elif K != AUTO:
        checks.count("n_components", K, 1, M, f" = M for frames of {M} samples")
    keeps_Phi, columns, _ = fixed_parts(fixed, given.shape[1], has_H=False)
    said = seed_of(random_state)
    keeps_Phi = keeps_Phi or M == 1
    return OnlineFit(
        options=prepared(options, keeps_Phi),
        n_components=K,
        block_size=checked_size(block_size, M),
        forget_factor=checked_forget_factor(forget_factor),
        seed=drawn_seed(random_state),
        W=given,
        keeps_Phi=keeps_Phi,
        columns=None if columns is None else arrays.indices(columns, first),
        random_state=said,
    )


def prepared(options: FitOptions, keeps_Phi: bool) -> FitOptions:
    """The options of fits on a window: a limit on the time would make their bits depend on it."""
    check_possible(options)
    options = options.keeping_Phi() if keeps_Phi else options
    return replace(options, algorithm=replace(options.algorithm, max_time=None))


def checked_size(block_size: Any, M: int) -> int:
    """Return the number of frames of a block."""
    return BLOCK * M if block_size is None else checks.count("block_size", block_size, 1)


def checked_forget_factor(given: Any) -> float:
    """Return how much of what was learned is left after a block."""
    return checks.number("forget_factor", given, 0, strict=True, most=1)


def drawn_seed(random_state: RandomState) -> int:
    """Return a whole number that stands for a random state."""
    generator = checks.generator(random_state)
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(generator.integers(2**32))


def check_possible(options: FitOptions) -> None:
    """Raise if something was asked for that needs all frames at once."""
    penalty = options.algorithm.penalty
    if options.n_atoms is not None:
        raise ValueError(
            f"n_atoms is {options.n_atoms}, but the strongest atoms of a stream are not known while"
            " it is read: leave n_atoms out, or pass the frames as one array"
        )
    if penalty.smoothness:
        raise ValueError(
            f"smoothness is {penalty.smoothness:g}, but a sample of the frames of a stream has no"
            " neighbours: leave smoothness out, or pass the frames as one array"
        )
    if not penalties.is_linear(penalty):
        raise ValueError(
            f"penalty is {penalty!r}, which depends on sums over all frames: use 'sparse', or pass"
            " the frames as one array"
        )
    if options.algorithm.floor == 0:
        raise ValueError(
            "floor is 0, but an entry that is exactly zero may still arrive, which costs infinitely"
            " much: set floor to a small number such as 1e-8"
        )
    if options.engine == "dask":
        raise ValueError(
            "engine is 'dask', but the frames of a stream are in memory: use engine='auto'"
        )


def refuse_arrays_of_all_frames(**given: object) -> None:
    """Raise if something has one value for each frame of a stream."""
    for name, value in given.items():
        if value is not None:
            instead = (
                ", or use TLNMF.partial_fit, which takes it" if name == "sample_weight" else ""
            )
            raise ValueError(
                f"{name} is given, but Y is a stream, whose number of frames is not known: leave"
                f" {name} out{instead}"
            )


def description(fit: OnlineFit, frames: Array) -> dict[str, Any]:
    """What a checkpoint must agree with, in values for JSON; frames are like these (C, M, n)."""
    o, (C, M, _) = fit.options.algorithm, frames.shape
    return {
        "frames": f"a stream, {arrays.dtype_of(frames)}, {M} samples on {C} channels",
        "n_components": fit.n_components,
        "block_size": fit.block_size,
        "forget_factor": fit.forget_factor,
        "divergence": divergence_label(fit.options.divergence),
        "penalty": object_label("penalty", o.penalty),
        "floor": o.floor,
        "anneal": object_label("anneal", o.anneal),
        "solver": object_label("solver", o.solver),
        "n_iter_nmf": o.n_iter_nmf,
        "n_iter_transform": o.n_iter_transform,
        "nmf_exponent": o.nmf_exponent,
        "max_iter": o.max_iter,
        "tol": o.tol,
        "fixed": None if fit.columns is None else arrays.to_numpy(fit.columns).tolist(),
        "random_state": fit.random_state,
        "init": init_label(fit.options.init),
        "W": label(fit.W) if fit.W.shape[1] else None,
    }
