"""From the arguments of a door to a run of Algorithm 1, and from the run to a result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from phinmf import arrays, checks
from phinmf._types import Array, Indices
from phinmf.algorithm.alternate import Callback, Outcome, Progress, Settings, alternate
from phinmf.algorithm.annealing import SINGLE_PAYS, Anneal, Schedule
from phinmf.algorithm.model import Iterate, Model
from phinmf.arrays import lazy
from phinmf.arrays.errands import in_memory
from phinmf.arrays.lazy import is_lazy
from phinmf.arrays.levels import levels
from phinmf.divergences import DIVERGENCES, FORMULAS, OF_TRANSFORM, Divergence
from phinmf.engines import ENGINES, Engine
from phinmf.result import Result, Status
from phinmf.solvers import LBFGS, SOLVERS, Solver
from phinmf.warn import warn


class Data(NamedTuple):
    """The frames of a fit at unit power."""

    Y: Any  #: (C, M, N), an array or a dask array
    scale: float  #: the root mean square they had
    weights: Array | None  #: of each frame, all positive
    used: Indices | slice  #: which of the given frames are used
    place: Indices | slice  #: where each of those is here


def data_of(Y: Any, weights: Array | None, floor: float, may_merge: bool) -> Data:
    """Leave out what has no weight, merge what is equal if that is cheap, and scale the rest."""
    used: Indices | slice = slice(None)
    place: Indices | slice = slice(None)
    if weights is not None and not weights.all():
        used = np.flatnonzero(weights)
        Y, weights = arrays.frames_of(Y, used), weights[used]
    known = levels(Y)
    if not isinstance(used, slice) and known.silent.all():
        raise ValueError("the frames that are not masked are all zero: nothing can be learned")
    checks.floor_of(floor, checks.audible(known), arrays.dtype_of(Y))
    if may_merge and math.prod(Y.shape) < SINGLE_PAYS:
        few = in_memory(Y) if is_lazy(Y) else Y
        few, weights, place = merge(few, weights)
        known = levels(few)
        Y = lazy.dask().array.from_array(few, chunks=-1) if is_lazy(Y) else few
    return Data(*checks.unit_power(Y, weights, known), weights, used, place)


def merge(Y: Array, weights: Array | None) -> tuple[Array, Array | None, Indices]:
    """Take equal frames as one of their joint weight, in an order that only the frames decide.

    The rounding of a sum depends on the order of its terms, and many iterations make much of it:
    so a small problem gives the same bits in any order, for repeated or for weighted frames. The
    order is found on the host.
    """
    N = Y.shape[2]
    rows = arrays.to_numpy(Y).transpose(2, 0, 1).reshape(N, -1)
    _, first, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    place = place.ravel()
    joint = np.bincount(place, weights=weights)
    weights = None if (joint == 1).all() else joint.astype(np.float64)
    return arrays.frames_of(Y, first), weights, place


def settings(
    shape: tuple[int, int, int],
    solver: str | Solver | None,
    floor: float,
    anneal: bool | Anneal | None,
    max_iter: int,
    max_time: float | None,
    n_iter_transform: int,
    tol: float,
    *,
    mu: float,
    gamma: float,
    n_iter_nmf: int,
    callback: Callback | None,
    rng: np.random.Generator,
    weights: Array | None = None,
    scale: float = 1.0,
) -> Settings:
    """Check what both functions share."""
    C, M, N = shape
    chosen = solver_of(solver, M)
    target = checks.number("floor", floor, 0)
    max_iter = checks.count("max_iter", max_iter, 0)
    max_time = None if max_time is None else checks.number("max_time", max_time, 0)
    whole = weights is None or bool((weights % 1 == 0).all())
    counted = (C, M, int(weights.sum()) if weights is not None and whole else N)
    return Settings(
        solver=chosen,
        schedule=Schedule(schedule_of(anneal, chosen), target, counted, max_iter, max_time, whole),
        mu=mu,
        nmf_exponent=gamma,
        n_iter_nmf=checks.count("n_iter_nmf", n_iter_nmf, 0),
        n_iter_transform=checks.count("n_iter_transform", n_iter_transform, 1),
        max_iter=max_iter,
        max_time=max_time,
        tol=checks.number("tol", tol, 0),
        callback=checks.function("callback", callback),
        rng=rng,
        scale=scale,
    )


def solve(
    model: Model, start: Iterate, run: Settings, scale: float, at: Progress | None = None
) -> Result:
    """Run Algorithm 1 and hand its result back in the units of the data."""
    result = result_of(alternate(model, start, run, at), run, scale)
    return result if model.V_hat is None else replace(result, W=None, H=None)


def result_of(outcome: Outcome, run: Settings, scale: float) -> Result:
    """Where a run ended, in the units of the data; not converged is worth a warning."""
    last, history, status, divergence, penalty = outcome
    asked_for = (Status.CALLBACK, Status.INTERRUPTED)
    if status.failed or (run.tol > 0 and not status.converged and status not in asked_for):
        message = f"not converged to tol={run.tol:g}; {status.value}"
        warn(message, ConvergenceWarning)
    unit = float(arrays.dtype_of(last.H).type(scale) ** 2)
    return Result(
        Phi=last.Phi,
        W=last.W,
        H=last.H * unit,
        objective=divergence + penalty,
        divergence=divergence,
        penalty=penalty,
        history=history,
        status=status,
        floor=run.schedule.target * scale**2,
        scale=scale,
    )


def solver_of(solver: str | Solver | None, M: int) -> Solver | None:
    """Return an instance; a 1×1 transform has nothing to learn."""
    if isinstance(solver, str):
        solver = SOLVERS[checks.known("solver", solver, [*SOLVERS, None])]()
    elif solver is not None and not isinstance(solver, Solver):
        checks.known("solver", solver, [*SOLVERS, None])
    return solver if M > 1 else None


def schedule_of(anneal: bool | Anneal | None, solver: Solver | None) -> Anneal | None:
    """Return the schedule; only L-BFGS anneals unasked."""
    if isinstance(anneal, Anneal):
        return anneal
    if anneal is None:
        anneal = isinstance(solver, LBFGS)
    return Anneal() if checks.known("anneal", anneal, (True, False)) else None


def engine_of(
    name: str,
    Y: Any,
    divergence: str | Divergence,
    n_threads: int | None,
    weights: Array | None = None,
) -> Engine:
    """Return the engine that holds these frames."""
    checks.known("engine", name, ["auto", *ENGINES])
    divergence = divergence_of(divergence, OF_TRANSFORM)
    if n_threads is not None:
        checks.count("n_threads", n_threads, 1)
    if is_lazy(Y) and name in ("auto", "dask"):
        name = "dask"
    elif is_lazy(Y):
        raise ValueError(
            f"engine is {name!r}, which does not hold dask arrays: use engine='auto', or pass"
            " Y.compute() if it fits into memory"
        )
    elif name == "auto":
        tensors = arrays.is_tensor(Y)
        able = [n for n, kind in ENGINES.items() if kind.tensors or not tensors]
        name = next(n for n in able if ENGINES[n].supports(divergence))
    if not ENGINES[name].supports(divergence):
        instead = "engine='auto', which takes the readable one"
        if is_lazy(Y):
            instead = "Y.compute() if it fits into memory, which the readable engine takes"
        raise ValueError(
            f"engine {name!r} does not compute this divergence, only 'itakura-saito' and"
            f" 'gaussian': use {instead}"
        )
    return ENGINES[name](Y, divergence, n_threads, weights)


def divergence_of(given: str | Divergence, needed: Sequence[str] = FORMULAS) -> Divergence:
    """Return the functions of a divergence, by its name or as they are."""
    if not isinstance(given, str) and all(callable(getattr(given, f, None)) for f in needed):
        return given
    return DIVERGENCES[checks.known("divergence", given, DIVERGENCES)]


def exponent(gamma: float) -> float:
    """Check γ."""
    value = checks.number("nmf_exponent", gamma, 0, strict=True)
    if value > 1:
        raise ValueError(f"nmf_exponent is {gamma}, but updates are monotone only up to 1: use 1")
    return value


def streams(random_state: Any, n: int) -> list[np.random.Generator]:
    """Independent generators, so that giving one start does not change the others."""
    entropy = checks.generator(random_state).integers(2**63, size=4)
    return [np.random.default_rng(s) for s in np.random.SeedSequence(list(entropy)).spawn(n)]
