"""Sound: recordings to be read, and how their samples are stored.

`files` reads sound files and `writing` writes them, `frames` are what is learned from, `example` is
the built-in recording. What stands here needs no libsndfile, which takes a while to load.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from phinmf._types import Array
from phinmf.audio import example as example

BLOCK = 65_536  #: samples that are read or written at a time
#: bits of an integer sample; a subtype that is neither here nor in FLOATS is lossy
BITS = {"PCM_S8": 8, "PCM_U8": 8, "PCM_16": 16, "PCM_24": 24, "PCM_32": 32}
FLOATS = ("FLOAT", "DOUBLE")
#: endings of the formats that keep every sampling rate and every sample
SUFFIXES = {
    "WAV": ".wav", "WAVEX": ".wav", "RF64": ".wav", "W64": ".w64", "AIFF": ".aiff", "CAF": ".caf",
    "AU": ".au", "FLAC": ".flac", "OGG": ".ogg", "MP3": ".mp3",
}  # fmt: skip


@dataclass(frozen=True)
class SampleFormat:
    """Format of a file and type of its samples, in the words of libsndfile."""

    format: str
    subtype: str

    @property
    def bits(self) -> int | None:
        """Bits of an integer sample; None for floating point and for lossy formats."""
        return BITS.get(self.subtype)

    @property
    def lossless(self) -> bool:
        """Whether samples are read back as they were written."""
        return self.subtype in BITS or self.subtype in FLOATS

    @property
    def dtype(self) -> str:
        """Type in which samples are written and read back."""
        return "int32" if self.bits else "float64" if self.subtype == "DOUBLE" else "float32"

    @property
    def suffix(self) -> str:
        """Ending of a file name."""
        return ".opus" if self.subtype == "OPUS" else SUFFIXES[self.format]

    def __str__(self) -> str:
        return f"{self.format} {self.subtype}"


@dataclass(frozen=True)
class Sound:
    """What the header of a sound file says."""

    path: Path
    sample_rate: int
    channels: int
    length: int  #: samples of each channel
    format: str
    subtype: str
    tags: dict[str, str]

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return self.length / self.sample_rate

    @property
    def sample_format(self) -> SampleFormat:
        """How its samples are stored."""
        return SampleFormat(self.format, self.subtype)

    def is_like(self, other: Sound) -> bool:
        """Whether both can be the same recording, as far as their headers say."""
        return (self.length, self.sample_rate, self.channels, self.subtype) == (
            other.length, other.sample_rate, other.channels, other.subtype,
        )  # fmt: skip

    def __str__(self) -> str:
        minutes, seconds = divmod(self.seconds, 60)
        channels = {1: "mono", 2: "stereo"}.get(self.channels, f"{self.channels} channels")
        return (
            f"{int(minutes)}:{seconds:04.1f} min, {self.sample_rate} Hz, {channels},"
            f" {self.sample_format}"
        )


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

    @property
    def sound(self) -> Sound | None:
        """The file that it is a stretch of; None: an array."""

    @property
    def first(self) -> int:
        """Its first sample in that file."""

    def read(self, start: int, n: int) -> Array:
        """Return up to n samples (n, channels) from `start` on, in double precision."""

    def blocks(self) -> Iterator[Array]:
        """Yield all samples in blocks (n, channels), in double precision."""

    def check_unchanged(self) -> None:
        """Raise InvalidValue if the recording is no longer what it was at first."""


class ArraySource:
    """A recording in memory: samples (n, channels), float64."""

    def __init__(self, samples: Array, sample_rate: int) -> None:
        self.samples = samples
        self.sound, self.first = None, 0
        self.sample_rate = sample_rate
        self.length, self.channels = samples.shape

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
