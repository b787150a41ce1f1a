"""What a checkpoint must agree with: the frames, the settings and the start, as JSON knows them."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from phinmf import checks
from phinmf._types import Array
from phinmf.algorithm.alternate import Settings
from phinmf.algorithm.nmf import Kept
from phinmf.divergences import DIVERGENCES, Divergence
from phinmf.fit.assembly import divergence_of
from phinmf.fit.checkpoint import digest, digest_of_frames
from phinmf.inits import Init


def seed_of(random_state: Any) -> int | str | None:
    """A random state in words that JSON knows: the seed, or a text for the state of a generator."""
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return None if random_state is None else int(random_state)
    drawn = checks.generator(copy.deepcopy(random_state)).integers(2**63, size=4)
    return f"{type(random_state).__name__} {digest(drawn.astype(np.float64))}"


def description(
    run: Settings,
    frames: Array,
    weights: Array | None,
    K: int,
    divergence: str | Divergence,
    kept: Kept,
    W: Array,
    H: Array | None,
    init: Any,
    random_state: int | str | None,
) -> dict[str, Any]:
    """What a checkpoint must agree with, in words that JSON knows.

    Of arrays, those that were given: what is made of them may differ in the last bit elsewhere.
    """
    columns = None if kept.columns is None else kept.columns.tolist()
    return {
        "frames": digest_of_frames(frames, weights),
        "n_components": K,
        "divergence": name_of(divergence),
        "sparsity": run.mu,
        "floor": run.schedule.target,
        "anneal": repr(run.schedule.anneal),
        "solver": repr(run.solver),
        "n_iter_nmf": run.n_iter_nmf,
        "n_iter_transform": run.n_iter_transform,
        "nmf_exponent": run.nmf_exponent,
        "fixed": {"W": columns, "H": kept.H is not None},
        "random_state": random_state,
        "init": init_name(init),
        "W": label(W) if W.shape[1] else None,
        "H": None if H is None else label(H),
    }


def init_name(init: Any) -> str:
    """The name of an init, the text of an object of one, or the label of an array."""
    if isinstance(init, str):
        return init
    return repr(init) if isinstance(init, Init) else label(checks.real_array("init", init))


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
