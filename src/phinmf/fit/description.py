"""What a checkpoint must agree with: the frames, the settings and the start, as JSON knows them."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from phinmf import checks, inits
from phinmf._types import Array
from phinmf.divergences import DIVERGENCES, Divergence
from phinmf.fit.checkpoint import digest, digest_of_frames
from phinmf.fit.data import Data
from phinmf.fit.engine import divergence_of
from phinmf.fit.given import Given
from phinmf.fit.options import FitOptions
from phinmf.inits import Init

Seed = int | str | None


def seed_of(random_state: Any) -> Seed:
    """A random state in words that JSON knows: the seed, or a text for the state of a generator."""
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return None if random_state is None else int(random_state)
    drawn = checks.generator(copy.deepcopy(random_state)).integers(2**63, size=4)
    return f"{type(random_state).__name__} {digest(drawn.astype(np.float64))}"


def description(
    options: FitOptions, data: Data, given: Given, K: int, seed: Seed, in_batch: bool
) -> dict[str, Any]:
    """What a checkpoint must agree with, as JSON holds it.

    Arrays are described as they were given: what is computed from them may differ in the last bit
    on another machine.
    """
    kept, o = given.kept, options.algorithm
    columns = None if kept.columns is None else kept.columns.tolist()
    return {
        "frames": digest_of_frames(data.frames, data.frame_weights),
        "n_components": K,
        "divergence": name_of(options.divergence),
        "sparsity": o.sparsity,
        "floor": o.floor,
        "anneal": repr(data.schedule(o).anneal),
        "solver": repr(o.solver),
        "n_iter_nmf": o.n_iter_nmf,
        "n_iter_transform": o.n_iter_transform,
        "nmf_exponent": o.nmf_exponent,
        "fixed": {"W": columns, "H": kept.H is not None},
        "random_state": seed,
        "init": init_name(options.init),
        "W": label(given.W) if given.W.shape[1] else None,
        "H": None if given.H_as_given is None else label(given.H_as_given),
        "engine": "a batch of tensors" if in_batch else "one restart",
    }


def init_name(init: Init) -> str:
    """The label of a given array, or the text of another init."""
    return label(init.Phi) if isinstance(init, inits.Given) else repr(init)


def label(array: Array) -> str:
    """A text that tells an array from others."""
    return f"array {digest(array)}"


def name_of(divergence: str | Divergence) -> str:
    """The name of a registered divergence; of any other its own, and what an entry costs."""
    given = divergence_of(divergence)
    for name, known in DIVERGENCES.items():
        if known == given:
            return name
    own = type(given).__qualname__
    return f"{own} {float(given.value(np.array(0.7), np.array(0.3), 0.01)):.6g}"
