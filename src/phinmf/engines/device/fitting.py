"""Whether the frames of a shard stay on a device, or stream to it."""

from __future__ import annotations

from phinmf._types import Array, Device
from phinmf.arrays.threads import Workers
from phinmf.engines.blocked.shard import Shard
from phinmf.engines.blocked.stretch import Stretch
from phinmf.engines.device.resident import TensorShard


def shard_on(device: Device, Y: Array, stretch: Stretch, workers: Workers) -> Shard:
    """Return a shard of frames (C, n, M) on a device."""
    return TensorShard(Y, stretch, device)
