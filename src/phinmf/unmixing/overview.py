"""What pages show and play without reading a whole recording.

The outline of a recording and of its components, the peak of each short stretch, is written beside
the components for the player of the studio. Half a minute from the middle is put into the page.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phinmf._types import Array, Indices
from phinmf.unmixing import listing

FINEST = 256  #: samples of the shortest stretch
MOST = 65_536  #: stretches; a longer recording has longer ones
SECONDS = 30.0  #: longest preview, so that its sound has room in a page
FRAME = 8192  #: samples in which the strongest frequency of a component is looked for
AUDIBLE = 20.0  #: Hz; lower frequencies are not named


def preview_of(length: int, sample_rate: int) -> tuple[int, int]:
    """Return first sample and length of a stretch from the middle, or of all there is."""
    n = min(length, round(SECONDS * sample_rate))
    return (length - n) // 2, n


def step_of(length: int) -> int:
    """Return the samples of a stretch of the outline."""
    step = FINEST
    while -(-length // step) > MOST:
        step *= 2
    return step


def strongest(y: Array, sample_rate: int) -> float | None:
    """Return the frequency of most power where a sound (n,) is loudest; None for silence."""
    start = max(0, min(int(np.abs(y).argmax()), len(y) - FRAME))
    y = y[start : start + FRAME]
    power = np.square(np.abs(np.fft.rfft(y * np.hanning(len(y)), FRAME)))
    power[: 1 + int(AUDIBLE * FRAME / sample_rate)] = 0.0
    return round(float(power.argmax()) * sample_rate / FRAME, 1) if power.any() else None


class Overview:
    """Collects peaks from blocks: of each component, and of their sum."""

    def __init__(self, K: int, length: int) -> None:
        self.step = step_of(length)
        self.peaks: Array = np.zeros((K + 1, -(-length // self.step)))  #: the sum first

    def add(self, row: int, start: int, block: Array) -> None:
        """Add a block (n, channels) that begins at sample `start`; row 0 is the sum.

        The start is a multiple of a stretch, or of the samples of a block that is shorter than one.
        """
        starts = np.arange(0, len(block), self.step)
        maxima = np.maximum.reduceat(np.abs(block).max(axis=1), starts)
        bins = (start + starts) // self.step
        self.peaks[row, bins] = np.maximum(self.peaks[row, bins], maxima)

    def save(self, path: Path, order: Indices) -> None:
        """Write the peaks of the sum, then of the components in an order."""
        np.save(path, self.rounded()[[0, *(order + 1)]])

    def rounded(self) -> NDArray[np.uint8]:
        """Return the peaks (K + 1, stretches) in one byte each: 255 times the root."""
        return np.rint(255 * np.sqrt(self.peaks.clip(0, 1))).astype(np.uint8)


def load(folder: Path, K: int, length: int) -> NDArray[np.uint8]:
    """Return the bytes (K + 1, stretches) of a folder; raise ValueError if they do not fit it."""
    path = listing.inside(folder, listing.OVERVIEW)
    try:  # mapped, since a header may announce more than the memory holds
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        raise listing.damaged(folder) from None
    fits = isinstance(mapped, np.ndarray) and mapped.dtype == np.uint8
    if not fits or mapped.shape != (K + 1, -(-length // step_of(length))):
        raise listing.damaged(folder)
    return np.array(mapped)
