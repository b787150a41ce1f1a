"""The outline of a recording and of its components: the peak of each short stretch.

It is written beside the components, so that a player can draw hours of sound without reading them.
"""

from __future__ import annotations

from copy import copy
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phinmf._types import Array, Indices
from phinmf.unmixing import ownership

FINEST = 256  #: samples of the shortest stretch
MOST = 65_536  #: stretches; a longer recording has longer ones


def step_of(length: int) -> int:
    """Return the samples of a stretch."""
    step = FINEST
    while -(-length // step) > MOST:
        step *= 2
    return step


class Overview:
    """Collects peaks from blocks: of each component, and of their sum."""

    def __init__(self, K: int, length: int) -> None:
        self.step = step_of(length)
        self.peaks: Array = np.zeros((K + 1, -(-length // self.step)))  #: the sum first

    def keep(self, row: int, start: int, block: Array) -> None:
        """Take a block (n, channels) that begins at sample `at`; row 0 is the sum."""
        loudest = np.abs(block).max(axis=1)
        first = -start % self.step  # where the first stretch begins that begins in this block
        starts = np.arange(first, len(block), self.step)
        starts = np.concatenate([[0], starts]) if first else starts
        maxima = np.maximum.reduceat(loudest, starts)
        bins = (start + starts) // self.step
        self.peaks[row, bins] = np.maximum(self.peaks[row, bins], maxima)

    def in_order(self, order: Indices) -> Overview:
        """Return the same overview with its components in another order."""
        changed = copy(self)
        changed.peaks = self.peaks[[0, *(order + 1)]]
        return changed

    def bytes(self) -> NDArray[np.uint8]:
        """Return the peaks in one byte each: 255 times the square root."""
        return np.rint(255 * np.sqrt(self.peaks.clip(0, 1))).astype(np.uint8)

    def save(self, path: Path) -> None:
        """Write the peaks, one byte each."""
        np.save(path, self.bytes())


def load(folder: Path, K: int, length: int) -> NDArray[np.uint8]:
    """Return the bytes (K + 1, stretches) of a folder; raise ValueError if they do not fit it."""
    path = ownership.inside(folder, ownership.OVERVIEW)
    try:  # mapped, since a header may announce more than the memory holds
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        raise ownership.damaged(folder) from None
    fits = isinstance(mapped, np.ndarray) and mapped.dtype == np.uint8
    if not fits or mapped.shape != (K + 1, -(-length // step_of(length))):
        raise ownership.damaged(folder)
    return np.array(mapped)
