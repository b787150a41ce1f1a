"""Whether the frames of a shard stay on a device, or stream to it."""

from __future__ import annotations

import math

import torch

from phinmf._types import Array, Device, Precision
from phinmf.arrays import dtype_of, to_numpy
from phinmf.arrays.threads import Workers
from phinmf.engines.blocked.shard import Shard
from phinmf.engines.blocked.stretch import Stretch
from phinmf.engines.device import memory
from phinmf.engines.device.flow import SLOTS, Flow, spread
from phinmf.engines.device.host import (
    HostFrames,
    HostStore,
    LockedFrames,
    Read,
    StagedFrames,
)
from phinmf.engines.device.pieces import ENTRIES
from phinmf.engines.device.resident import ARRAYS, TensorShard
from phinmf.engines.device.streamed import StreamedShard
from phinmf.engines.remote.memory import available

#: Arrays as large as a piece: those in flight, X, f' and up to eight intermediate results.
WORKING = SLOTS + 10
FOR_PIECES = 0.8  #: share of the memory that they may use


def shard_on(
    device: Device, Y: Array | torch.Tensor, stretch: Stretch, workers: Workers, users: int = 1
) -> Shard:
    """Return a shard of frames (C, n, M) on a device: resident if they fit, else streamed.

    If the stretch has atoms, their products with the frames are held instead. So many processes
    use the device.
    """
    allowed, dtype = memory.limit(device, users), dtype_of(Y)
    entries = entries_within(allowed, dtype)
    C, n, M = Y.shape
    size = C * n * (M if stretch.atoms is None else len(stretch.atoms))
    if (ARRAYS * size + WORKING * entries) * dtype.itemsize <= allowed:
        return TensorShard(Y, stretch, device, entries)
    held = stretch.held(to_numpy(Y), workers)
    return streamed(device, held, held.shape, dtype, stretch, workers, allowed)


def reading_shard_on(
    device: Device,
    read: Read,
    shape: tuple[int, int, int],
    dtype: Precision,
    stretch: Stretch,
    workers: Workers,
) -> Shard:
    """Return a shard of frames (C, n, M) that a function reads in each pass, but for those kept."""
    return streamed(device, read, shape, dtype, stretch, workers, memory.limit(device))


def entries_within(allowed: float, dtype: Precision) -> int:
    """Return the entries of a piece: large ones matter more than pieces that are kept."""
    return int(min(ENTRIES, FOR_PIECES * allowed / (WORKING * dtype.itemsize)))


def streamed(
    device: Device,
    Y: Array | Read,
    shape: tuple[int, int, int],
    dtype: Precision,
    stretch: Stretch,
    workers: Workers,
    allowed: float,
) -> StreamedShard:
    """Return a shard of frames (C, n, M) of the host that stream to a device.

    They are an array or read by a function. As many pieces are kept on the device as are allowed.
    """
    entries = entries_within(allowed, dtype)
    shard = StreamedShard(shape, dtype, stretch, device, entries)
    frames = [piece.frames for piece in shard.pieces]
    shapes = [(shard.C, shard.M, f.stop - f.start) for f in frames]
    longest = max(map(math.prod, shapes))
    left = allowed / dtype.itemsize - WORKING * longest
    keeps = spread(int(min(max(left, 0) / longest, len(frames))), len(frames))
    source = source_of(Y, longest, shard, workers)
    travelling = {i: math.prod(s) for i, s in enumerate(shapes) if i not in keeps}
    store = None if callable(Y) else store_for(travelling, dtype, shard.device)
    shard.flow = Flow(source, shapes, frames, shard.dtype, shard.device, keeps, store)
    return shard


def source_of(Y: Array | Read, longest: int, shard: StreamedShard, workers: Workers) -> HostFrames:
    """Return frames that a device can copy from, page-locked in place if that is possible."""
    if not callable(Y):
        try:
            return LockedFrames(Y, shard.device)
        except OSError:
            pass
    pinned = shard.device.type == "cuda"
    buffers = [torch.empty(longest, dtype=shard.dtype, pin_memory=pinned) for _ in range(SLOTS)]
    return StagedFrames(Y if callable(Y) else lambda frames: Y[:, frames], buffers, workers)


def store_for(sizes: dict[int, int], dtype: Precision, device: torch.device) -> HostStore | None:
    """Return memory of the host for pieces with so many entries; None if there is not enough."""
    if sum(sizes.values()) * dtype.itemsize > available() // 2:
        return None
    try:
        return HostStore(sizes, dtype, device)
    except OSError:
        return None
