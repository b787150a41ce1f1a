"""A snapshot of a fit, read from a file; every number is checked before it is used."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from phinmf import arrays
from phinmf._types import Indices, Precision
from phinmf.algorithm.annealing import Stage
from phinmf.algorithm.model import Iterate, Sample
from phinmf.algorithm.run import Run, Snapshot
from phinmf.result import History
from phinmf.storage import Stored, shown
from phinmf.stored_values import array, is_number, orthogonal


def snapshot_of(stored: Stored, run: Run) -> Snapshot:
    """Return the snapshot for a run at its start; its arrays are like those of the start."""
    start, schedule = run.start, run.schedule
    N, M = start.H.shape[1], len(start.Phi)
    history = History.from_json(stored.header.get("history"), N, M)
    if not len(history):
        raise ValueError("its history is empty")
    n_frames = stored.header.get("n_frames")
    sample, n_used = None, N
    if n_frames is not None:
        if n_frames != schedule.sample_size or n_frames is True:
            raise ValueError(f"its sample has {shown(n_frames)} frames")
        frames = sample_frames(stored, n_frames, N)
        weights = array(stored, "sample_weights", frames.shape, np.float64, lambda w: w > 0)
        if not math.isclose(weights.sum(), run.total_weight, rel_tol=1e-6):
            raise ValueError("its sample_weights do not add up to those of all frames")
        sample, n_used = Sample(frames, weights), len(frames)
    n_atoms = stored.header.get("n_atoms")
    whole = is_number(n_atoms, 1) and isinstance(n_atoms, int)
    if not ((n_atoms is None or whole) and schedule.allows(n_atoms)):
        raise ValueError(f"it learns {shown(n_atoms)} atoms")
    if not run.fits(memory_of(stored), n_atoms or M):
        raise ValueError("its memory is not one of this solver")
    dtype = arrays.dtype_of(start.Phi)
    found = stored.arrays.get("last_Phi", np.zeros(0)).dtype
    used = found if found == np.float32 else dtype
    last = iterate(stored, "last_", start, n_atoms or M, n_used, used)
    memory = {name: arrays.like(a, start.Phi) for name, a in memory_of(stored).items()}
    stage = Stage(arrays.dtype_of(last.Phi), n_frames, n_atoms)
    begun = iterate(stored, "start_", start, M, N, dtype)
    begun = replace(begun, activations=held_like(begun.H, start.H))
    basis = None
    if n_atoms is not None:
        basis = orthogonal(stored, "basis", M, np.dtype(np.float64))
        basis = arrays.like(basis, start.Phi)
    return Snapshot(begun, history, last, memory, stage, sample, basis)


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


def held_like(H: Any, known: Any) -> Any:
    """Return H with one row in memory if the known H has equal rows and holds only one.

    The bits of a product depend on how its factors are held.
    """
    one_row = isinstance(known, np.ndarray) and known.strides[0] == 0
    return np.broadcast_to(H[:1], H.shape) if one_row and (H[:1] == H).all() else H


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
