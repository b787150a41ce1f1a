"""Which kind of shard holds a stretch of frames: compiled kernels, or tensors on a device."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from phinmf._types import Array, Device, Precision
from phinmf.arrays.threads import Workers
from phinmf.engines.blocked.compiled_shard import CompiledShard
from phinmf.engines.blocked.shard import Shard
from phinmf.engines.blocked.stretch import Stretch


def make_reading_shard(
    read: Callable[[slice], Array],
    shape: tuple[int, int, int],
    dtype: Precision,
    stretch: Stretch,
    workers: Workers,
    device: Device,
) -> Shard:
    """Return a shard on a device whose frames (C, n, M) are read whenever they are needed."""
    fitting = importlib.import_module("phinmf.engines.device.fitting")
    shard: Shard = fitting.reading_shard_on(device, read, shape, dtype, stretch, workers)
    return shard


def make_shard(
    Y: Array, stretch: Stretch, workers: Workers, device: Device = None, users: int = 1
) -> Shard:
    """Return a shard that holds frames Y (C, n, M), or their products with atoms.

    It computes on a device of PyTorch if one is named, which so many processes use.
    """
    if device is None:
        return CompiledShard(stretch.held(Y, workers), stretch, workers)
    # imported late: it needs PyTorch
    fitting = importlib.import_module("phinmf.engines.device.fitting")
    shard: Shard = fitting.shard_on(device, Y, stretch, workers, users)
    return shard
