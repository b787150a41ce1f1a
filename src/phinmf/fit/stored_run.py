"""A snapshot of a restart, read from a file; every number is checked before it is used."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from phinmf import arrays
from phinmf._types import Indices, Precision
from phinmf.algorithm.annealing import Schedule
from phinmf.algorithm.group import Group, Position, Snapshot, Stage
from phinmf.algorithm.model import Iterate, Sample
from phinmf.fit.storage import Stored, shown
from phinmf.linalg.manifold import orthogonality_error
from phinmf.result import History, Row


def snapshot_of(stored: Stored, start: Iterate, group: Group, schedule: Schedule) -> Snapshot:
    """Return the snapshot of a restart that has this start; its arrays are like those of the start.

    `group` and `schedule` are those of the run that is resumed.
    """
    N, M = start.H.shape[1], len(start.Phi)
    history = history_of(stored.header.get("history"), N, M)
    if not len(history):
        raise ValueError("its history is empty")
    n_frames = stored.header.get("n_frames")
    sample, n_used = None, N
    if n_frames is not None:
        if n_frames != schedule.sample_size or n_frames is True:
            raise ValueError(f"its sample has {shown(n_frames)} frames")
        frames = sample_frames(stored, n_frames, N)
        weights = array(stored, "sample_weights", frames.shape, np.float64, lambda w: w > 0)
        if not math.isclose(weights.sum(), group.total_weight, rel_tol=1e-6):
            raise ValueError("its sample_weights do not add up to those of all frames")
        sample, n_used = Sample(frames, weights), len(frames)
    n_atoms = stored.header.get("n_atoms")
    whole = is_number(n_atoms, 1) and isinstance(n_atoms, int)
    if not ((n_atoms is None or whole) and schedule.allows(n_atoms)):
        raise ValueError(f"it learns {shown(n_atoms)} atoms")
    if not group.fits(memory_of(stored), n_atoms or M):
        raise ValueError("its memory is not one of this solver")
    dtype = arrays.dtype_of(start.Phi)
    found = stored.arrays.get("last_Phi", np.zeros(0)).dtype
    used = found if found == np.float32 else dtype
    last = iterate(stored, "last_", start, n_atoms or M, n_used, used)
    memory = {name: arrays.like(a, start.Phi) for name, a in memory_of(stored).items()}
    stage = Stage(n_frames, arrays.dtype_of(last.Phi), n_atoms)
    begun = iterate(stored, "start_", start, M, N, dtype)
    basis = None
    if n_atoms is not None:
        basis = orthogonal(stored, "basis", M, np.dtype(np.float64))
        basis = arrays.like(basis, start.Phi)
    return Snapshot(begun, history, Position(last, memory, sample, stage, basis))


def memory_of(stored: Stored) -> dict[str, Any]:
    """The arrays that a solver keeps from one update to the next."""
    prefix = "memory_"
    found = stored.arrays.items()
    return {name.removeprefix(prefix): a for name, a in found if name.startswith(prefix)}


def iterate(
    stored: Stored, prefix: str, start: Iterate, n_atoms: int, n_frames: int, dtype: Precision
) -> Iterate:
    """Return Φ, W and H for so many atoms and frames, and the components of the start."""
    K = start.W.shape[1]
    found = {"Phi": orthogonal(stored, prefix + "Phi", n_atoms, dtype)}
    for name, shape in {"W": (n_atoms, K), "H": (K, n_frames)}.items():
        found[name] = array(stored, prefix + name, shape, dtype, lambda a: a >= 0)
    if normalised(arrays.to_numpy(start.W)) and not normalised(found["W"]):
        raise ValueError(f"its {prefix}W has columns that do not sum to 1")
    return Iterate(*(arrays.like(found[name], start.Phi) for name in ("Phi", "W", "H")))


def orthogonal(stored: Stored, name: str, M: int, dtype: Precision) -> Any:
    """Return an orthogonal M×M matrix."""
    found = array(stored, name, (M, M), dtype, lambda a: abs(a) < 2)
    if not orthogonality_error(found.astype(np.float64)) < 1e-4:
        raise ValueError(f"its {name} is not orthogonal")
    return found


def normalised(W: Any) -> bool:
    """Whether all columns sum to 1 or are zero, as they do unless H is fixed."""
    sums = W.sum(axis=0, dtype=np.float64)
    return bool(((sums == 0) | (abs(sums - 1) < 1e-4)).all())


def sample_frames(stored: Stored, n: int, N: int) -> Indices:
    """Return which of N frames were drawn: at most n of them, in increasing order."""
    found = stored.arrays.get("sample_frames")
    size = 0 if found is None or found.ndim != 1 else min(len(found), n)
    frames: Indices = array(
        stored, "sample_frames", (size,), np.int64, lambda i: (i >= 0) & (i < N)
    )
    if size == 0 or not (np.diff(frames) > 0).all():
        raise ValueError("its sample_frames are not frames in order")
    return frames


def array(
    stored: Stored,
    name: str,
    shape: tuple[int, ...],
    dtype: Any,
    holds: Callable[[Any], Any],
) -> Any:
    """Return an array of this shape and type whose numbers are finite and satisfy `holds`."""
    found = stored.arrays.get(name)
    if found is None or found.shape != shape or found.dtype != dtype:
        what = "missing" if found is None else f"of shape {found.shape} and type {found.dtype}"
        raise ValueError(f"its {name} is {what}, but shape {shape} and type {dtype} are needed")
    if not np.isfinite(found).all() or not holds(found).all():
        raise ValueError(f"its {name} has numbers out of range")
    return found


def history_of(saved: Any, most_frames: float = math.inf, most_atoms: float = math.inf) -> History:
    """Return the history of a run on at most so many frames and atoms."""
    most = {"frames": most_frames, "atoms": most_atoms}
    rows = saved.get("rows") if isinstance(saved, dict) else None
    if not isinstance(rows, list) or not is_number(saved.get("start")):
        raise ValueError("its history is missing or has the wrong form")
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(Row._fields):
            raise ValueError(f"row {number} of its history does not have {len(Row._fields)} fields")
        for name, value in zip(Row._fields, row, strict=True):
            if not belongs(name, value) or (name in most and value > most[name]):
                raise ValueError(f"row {number} of its history says {name} = {shown(value)}")
    return History.from_json(saved)


def belongs(name: str, value: Any) -> bool:
    """Whether a value is possible in a column of a history."""
    if name == "steps":
        return isinstance(value, list) and all(is_number(v) for v in value)
    if name == "search_failed":
        return isinstance(value, bool)
    if name in ("evaluations", "frames", "atoms"):
        return is_number(value, 0) and isinstance(value, int)
    if name == "gradient" and isinstance(value, float) and math.isnan(value):
        return True  # no transform is learned
    return is_number(value, 0 if name in ("seconds", "floor", "gradient") else -math.inf)


def is_number(value: Any, least: float = -math.inf) -> bool:
    """Whether a value is a finite number of at least `least`."""
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return bool(known and least <= value and abs(value) < 1e308)
