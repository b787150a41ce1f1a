"""Frames in the memory of the host, from where a device can copy them while it computes.

A device copies from page-locked memory by itself. An array is page-locked in place, if the system
allows it. Otherwise, and if frames are read by a function, they pass through page-locked buffers.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from typing import ClassVar

import numpy as np
import torch

from phinmf._types import Array, Precision, Tensor
from phinmf.arrays.threads import Workers

Read = Callable[[slice], Array]  #: returns some of the frames (C, n, M) of a shard

_locks: Counter[tuple[int, int]] = Counter()  #: users of page-locked memory, by address and size
_guard = threading.RLock()  # a finalizer may run at any time


class PageLocked:
    """An array as a tensor that a device can copy from and to, until this object is deleted."""

    def __init__(self, x: Array, device: torch.device) -> None:
        """Page-lock an array in place; raise OSError if that is not possible."""
        if not x.flags.writeable or min(x.strides) < 0:
            raise OSError("PyTorch needs writable arrays with positive strides")
        self.tensor = torch.from_numpy(x)
        if device.type == "cuda":
            first = x.__array_interface__["data"][0]
            spans = ((n - 1) * s for n, s in zip(x.shape, x.strides, strict=True))
            place = first, sum(spans) + x.itemsize
            lock(place, device)
            weakref.finalize(self, unlock, place, device)


def lock(place: tuple[int, int], device: torch.device) -> None:
    """Page-lock some memory, unless it is already."""
    with _guard, torch.cuda.device(device):
        if not _locks[place] and int(torch.cuda.cudart().cudaHostRegister(*place, 0)):
            with contextlib.suppress(RuntimeError):  # the next call would report the error
                torch.ones(1, device=device).add_(1)
            raise OSError(f"the system does not lock {place[1]} bytes of memory")
        _locks[place] += 1


def unlock(place: tuple[int, int], device: torch.device) -> None:
    """Release page-locked memory, unless it has other users."""
    with _guard, torch.cuda.device(device):
        _locks[place] -= 1
        if not _locks[place]:
            torch.cuda.synchronize(device)  # no copy is under way
            torch.cuda.cudart().cudaHostUnregister(place[0])


class HostFrames(ABC):
    """Frames (C, n, M), of which pieces are copied to a device one after the other."""

    takes_time: ClassVar[bool]  #: whether it takes time to get a piece, so that a thread does it

    @abstractmethod
    def piece(self, frames: slice, slot: int) -> Tensor:
        """Return frames in memory that a device can copy from until the slot is used again."""


class LockedFrames(HostFrames):
    """An array that is page-locked in place."""

    takes_time = False

    def __init__(self, Y: Array, device: torch.device) -> None:
        self.locked = PageLocked(Y, device)

    def piece(self, frames: slice, slot: int) -> Tensor:
        return self.locked.tensor[:, frames]


class StagedFrames(HostFrames):
    """Frames that threads copy into page-locked buffers first, some frames each."""

    takes_time = True

    def __init__(self, read: Read, buffers: list[Tensor], workers: Workers) -> None:
        """Read frames into flat buffers, one for each slot."""
        self.read, self.buffers, self.workers = read, buffers, workers

    def piece(self, frames: slice, slot: int) -> Tensor:
        Y = self.read(frames)
        C, n, M = Y.shape
        room = self.buffers[slot][: C * n * M].view(C, n, M)
        there, step = room.numpy(), -(-n // self.workers.n_threads)

        def copy(first: int) -> None:
            there[:, first : first + step] = Y[:, first : first + step]

        self.workers.each(copy, range(0, n, step))
        return room


class HostStore:
    """Memory for some pieces of frames, which a device copies to and from."""

    def __init__(self, sizes: dict[int, int], dtype: Precision, device: torch.device) -> None:
        """Reserve so many entries for each piece; raise OSError if that is not possible."""
        self.pieces: dict[int, Tensor] = {}  #: by its number, flat
        if sizes:
            ends = np.cumsum(list(sizes.values()), dtype=int)
            self.locked = PageLocked(np.empty(ends[-1], dtype), device)
            for (i, size), end in zip(sizes.items(), ends, strict=True):
                self.pieces[i] = self.locked.tensor[end - size : end]


def host_array(x: Tensor, dtype: torch.dtype | None = None) -> Array:
    """Return a copy in NumPy's memory, in another precision if one is named."""
    copy = x.to(dtype or x.dtype).contiguous().cpu()
    return np.array(copy.numpy()) if x.device.type == "cpu" else copy.numpy()
