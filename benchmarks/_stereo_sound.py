"""Hours of 44.1 kHz stereo without a file: the built-in example at many speeds, two at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import soxr

import phinmf
from phinmf.arrays import room_for_frames
from phinmf.arrays.threads import parallel_map
from phinmf.audio.example import example
from phinmf.audio.frames import frame_count

RATE, M = 44_100, 1764
SPEEDS = np.geomspace(0.7, 1.4, 16)
CHUNK = 500 * M  #: samples that are made at a time, 20 s


class StereoSound:
    """A sound of any length, whose stretches can be made in any order."""

    def __init__(self, minutes: float) -> None:
        self.length = round(60 * minutes * RATE)
        self.n_frames = frame_count(self.length, M)
        sound = example()
        self.takes = [
            soxr.resample(sound.mixture.astype(np.float32), sound.sample_rate, RATE / speed)
            for speed in SPEEDS
        ]

    def samples(self, first: int, end: int) -> np.ndarray:
        """Return samples (n, 2) from a whole number of chunks on."""
        parts = [self._chunk(i) for i in range(first // CHUNK, -(-end // CHUNK))]
        begun = first - first % CHUNK
        return np.concatenate(parts)[first - begun : end - begun]

    def _chunk(self, number: int) -> np.ndarray:
        """Two takes at random places and levels, and some noise, on two channels."""
        rng = np.random.default_rng([number, 17])
        y = 1e-3 * rng.standard_normal((CHUNK, 2), dtype=np.float32)
        for take in rng.choice(len(self.takes), 2, replace=False):
            one = np.resize(np.roll(self.takes[take], rng.integers(2**20)), CHUNK)
            y += one[:, None] * rng.uniform(0.1, 0.6, 2).astype(np.float32)
        return y

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield all samples, a chunk at a time."""
        for first in range(0, self.length, CHUNK):
            yield self.samples(first, min(first + CHUNK, self.length))

    def frames(self) -> np.ndarray:
        """Return all frames (2, M, N) in single precision."""
        rows = room_for_frames((2, self.n_frames, M), np.float32).transpose(0, 2, 1)
        hop = M // 2

        def fill(first: int) -> None:
            some = slice(first, min(first + CHUNK // hop, self.n_frames))
            begin, end = max(some.start - 1, 0) * hop, min((some.stop + 1) * hop, self.length)
            Y = phinmf.to_frames(self.samples(begin, end), M)
            rows[:, :, some] = Y[:, :, min(first, 1) :][:, :, : some.stop - some.start]

        for _ in parallel_map(fill, range(0, self.n_frames, CHUNK // hop)):
            pass
        return rows
