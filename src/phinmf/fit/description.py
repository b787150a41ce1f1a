"""What a checkpoint must agree with: the frames, the options and the start, in values for JSON."""

from __future__ import annotations

import copy
import hashlib
from typing import Any

import numpy as np

from phinmf import checks
from phinmf._types import Array
from phinmf.algorithm.alternate import Settings
from phinmf.algorithm.nmf import Kept
from phinmf.divergences import DIVERGENCES, FORMULAS, Divergence
from phinmf.fit.assembly import divergence_of
from phinmf.fit.checkpoint import digest, digest_of_frames

PLAIN = (bool, int, float, str, np.generic, type(None))  #: what JSON and a text can hold
#: v, v̂ and ε of a few entries at which two divergences are compared.
ENTRIES = np.array([1e-3, 0.7, 40.0]), np.array([1e-2, 0.3, 7.0]), 1e-2


def seed_of(random_state: Any) -> int | str | None:
    """The seed, or a text that identifies the state of a generator."""
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
    """What a checkpoint must agree with, in values for JSON.

    Arrays are described as given: what is computed from them may differ in the last bit on another
    machine.
    """
    columns = None if kept.columns is None else kept.columns.tolist()
    return {
        "frames": digest_of_frames(frames, weights),
        "n_components": K,
        "divergence": divergence_label(divergence),
        "sparsity": run.mu,
        "floor": run.schedule.target,
        "anneal": object_label("anneal", run.schedule.anneal),
        "solver": object_label("solver", run.solver),
        "n_iter_nmf": run.n_iter_nmf,
        "n_iter_transform": run.n_iter_transform,
        "nmf_exponent": run.nmf_exponent,
        "fixed": {"W": columns, "H": kept.H is not None},
        "random_state": random_state,
        "init": init if isinstance(init, str) else label(checks.real_array("init", init)),
        "W": label(W) if W.shape[1] else None,
        "H": None if H is None else label(H),
    }


def label(array: Array) -> str:
    """A text that identifies an array."""
    return f"array {digest(array)}"


def object_label(name: str, value: object) -> str:
    """The class and the attributes of an object, as a text that is the same in every process."""
    if value is None:
        return "None"
    kind, attributes = type(value).__qualname__, getattr(value, "__dict__", {"": object()})
    if not all(isinstance(v, PLAIN) for v in attributes.values()):
        raise ValueError(
            f"{name} is {kind}, whose attributes are not all numbers or texts, so that a checkpoint"
            " cannot compare them: leave checkpoint and resume out, or change the class"
        )
    plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in attributes.items()}
    return f"{kind}({', '.join(f'{k}={v!r}' for k, v in plain.items())})"


def divergence_label(divergence: str | Divergence) -> str:
    """The name of a registered divergence; of any other its own name and a digest of its values."""
    given: Any = divergence_of(divergence)
    for name, known in DIVERGENCES.items():
        if known is given:
            return name
    own = getattr(given, "__name__", type(given).__qualname__)
    with np.errstate(all="ignore"):
        *others, (P, Q) = (getattr(given, formula)(*ENTRIES) for formula in FORMULAS)
    values = np.concatenate([np.ravel(found) for found in (*others, P, Q)])
    rounded = " ".join(f"{value:.6g}" for value in values)  # the same on every machine
    return f"{own} {hashlib.blake2b(rounded.encode(), digest_size=6).hexdigest()}"
