"""Recordings as the rest of the package reads them: in memory here, sound files in `files`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from phinmf._types import Array

BLOCK = 65_536  #: samples that are read or written at a time


class Source(Protocol):
    """A recording of known length, of which any stretch can be read, any number of times."""

    @property
    def sample_rate(self) -> int:
        """Samples per second."""

    @property
    def channels(self) -> int:
        """Number of channels."""

    @property
    def length(self) -> int:
        """Number of samples of each channel."""

    def read(self, start: int, n: int) -> Array:
        """Return up to n samples (n, channels) from `start` on, in double precision."""

    def blocks(self) -> Iterator[Array]:
        """Yield all samples in blocks (n, channels), in double precision."""

    def check_unchanged(self) -> None:
        """Raise ValueError if the recording is no longer what it was at first."""


@dataclass(frozen=True, eq=False)
class ArraySource:
    """A recording in memory."""

    samples: Array  #: (n, channels), float64
    sample_rate: int

    @property
    def channels(self) -> int:
        """Number of channels."""
        return self.samples.shape[1]

    @property
    def length(self) -> int:
        """Number of samples of each channel."""
        return len(self.samples)

    def read(self, start: int, n: int) -> Array:
        """Return up to n samples (n, channels) from `start` on."""
        return self.samples[start : start + n]

    def blocks(self) -> Iterator[Array]:
        """Yield all samples in blocks (n, channels)."""
        for start in range(0, self.length, BLOCK):
            yield self.read(start, BLOCK)

    def check_unchanged(self) -> None:
        """Do nothing: nobody else writes to the array."""


def in_blocks_of(size: int, blocks: Iterable[Array]) -> Iterator[Array]:
    """Yield the same samples in blocks of this size; only the last one may be shorter."""
    waiting: list[Array] = []
    n = 0
    for block in blocks:
        waiting.append(block)
        n += len(block)
        while n >= size:
            joined = np.concatenate(waiting)
            yield joined[:size]
            waiting, n = [joined[size:]], n - size
    if n:
        yield np.concatenate(waiting)
