"""Where the frames of a shard come from: a dask array, or one in memory, read chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from phinmf._types import AnyArray, Array, Precision
from phinmf.arrays import room_for_frames
from phinmf.arrays.lazy import is_lazy


def pieces(Y: AnyArray, frames: slice) -> list[Any]:
    """Cut frames (C, M, N) where chunks end: into delayed arrays, or one view of an array."""
    if not is_lazy(Y):
        return [Y[:, :, frames]]
    return list(Y[:, :, frames].to_delayed().ravel())


def joined(parts: Iterable[Array], shape: tuple[int, int, int], dtype: Precision) -> Array:
    """Copy pieces (C, M, …), which may be computed one at a time, into one array (C, n, M)."""
    Y = room_for_frames(shape, dtype)
    at = 0
    for part in parts:
        n = part.shape[2]
        Y[:, at : at + n] = part.transpose(0, 2, 1)
        at += n
    return Y
