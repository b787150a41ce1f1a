"""Where the frames of a run come from: a dask array, or one in memory, read a chunk at a time."""

from __future__ import annotations

from typing import Any

from phinmf._types import Array
from phinmf.arrays import room_for_frames
from phinmf.arrays.lazy import is_lazy


def pieces(Y: Any, frames: slice) -> list[Any]:
    """Frames (C, M, N) cut where chunks end: delayed arrays, or views of one in memory."""
    if not is_lazy(Y):
        return [Y[:, :, frames]]
    return list(Y[:, :, frames].to_delayed().ravel())


def joined(parts: Any, shape: tuple[int, int, int], dtype: Any) -> Array:
    """All pieces in one new array (C, n, M); `parts` may compute them one at a time."""
    Y = room_for_frames(shape, dtype)
    at = 0
    for part in parts:
        n = part.shape[2]
        Y[:, at : at + n] = part.transpose(0, 2, 1)
        at += n
    return Y


def load(Y: Any, frames: slice, dtype: Any) -> Array:
    """Frames (C, n, M) of their own, in this process."""
    cut = pieces(Y, frames)
    found = (p.compute() for p in cut) if is_lazy(Y) else iter(cut)
    shape = (Y.shape[0], frames.stop - frames.start, Y.shape[1])
    return joined(found, shape, dtype)
