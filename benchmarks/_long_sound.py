"""Hours of music, read as a stream: stretches of recordings, in any order and at any level.

And what learning from them costs: memory and time against what was heard.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import soxr
from _common import write_csv
from _packages import Missing, debian

from phinmf.result import State

PACKAGE = "wesnoth-1.16-music"
RATE = 11_025
STRETCH = 30.0, 180.0  # s, shortest and longest
GAIN = 12.0  # dB, up or down


def piece(name: str, rate: int = RATE) -> np.ndarray:
    """One piece of music in one channel, in single precision."""
    try:
        (path,) = debian(PACKAGE).rglob(f"{name}.ogg")
    except Missing as missing:
        print(f"The music was not found: {missing}.")
        raise SystemExit(0) from None
    y, given = soundfile.read(path, dtype="float32", always_2d=True)
    return soxr.resample(y.mean(axis=1), given, rate)


class LongSound:
    """The recordings of the package as files of one channel at our rate, and streams of them."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        names = sorted(path.stem for path in debian(PACKAGE).rglob("*.ogg"))
        self.files = [self.converted(name) for name in names if name != "silence"]

    def converted(self, name: str) -> Path:
        """Write a piece of music to a file from which any stretch is read at once."""
        path = Path(self.folder.name) / f"{name}.wav"
        soundfile.write(path, piece(name), RATE, subtype="FLOAT")
        return path

    def pieces(self, hours: float, seed: int = 0) -> Iterator[np.ndarray]:
        """Yield so many hours of sound, a second at a time."""
        rng = np.random.default_rng(seed)
        left = round(hours * 3600 * RATE)
        while left > 0:
            with soundfile.SoundFile(self.files[rng.integers(len(self.files))]) as file:
                n = min(left, len(file), round(rng.uniform(*STRETCH) * RATE))
                file.seek(rng.integers(len(file) - n + 1))
                gain = np.float32(10 ** (rng.uniform(-GAIN, GAIN) / 20))
                for at in range(0, n, RATE):
                    yield gain * file.read(min(RATE, n - at), dtype="float32")
            left -= n


def resident() -> float:
    """Megabytes of memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


class Heard:
    """How much of a stream has been read, and what its frames cost since the last row."""

    def __init__(self) -> None:
        self.samples = self.frames = self.entries = 0
        self.cost = 0.0
        self.rows: list[dict[str, Any]] = []
        self.began, self.processor = time.perf_counter(), time.process_time()

    @property
    def hours(self) -> float:
        """Hours of sound."""
        return self.samples / RATE / 3600

    def listening(self, pieces: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
        """Yield the same pieces and count their samples."""
        for y in pieces:
            self.samples += len(y)
            yield y

    def learned(self, state: State) -> None:
        """Add a step, and a row after the first minutes and after every hour."""
        row = state.history[-1]
        self.frames += row.frames
        self.cost += row.objective
        self.entries += row.frames * row.atoms
        noted = float(self.rows[-1]["hours"]) if self.rows else 0.0
        marks = [0.1, 0.5, *range(1, 1000)]
        if any(noted < mark <= self.hours for mark in marks):
            self.note()

    def note(self) -> None:
        """Write a row."""
        seconds = time.perf_counter() - self.began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        self.rows.append(
            {
                "hours": f"{self.hours:.1f}",
                "frames": self.frames,
                "megabytes": f"{resident():.0f}",
                "peak_megabytes": f"{peak:.0f}",
                "seconds": f"{seconds:.0f}",
                "processor_seconds": f"{time.process_time() - self.processor:.0f}",
                "frames_per_second": f"{self.frames / seconds:.0f}",
                "faster": f"{3600 * self.hours / seconds:.0f}",
                "objective": f"{self.cost / self.entries:.3f}",
            }
        )
        self.cost, self.entries = 0.0, 0
        print(self.rows[-1], flush=True)
        write_csv("online_hours", self.rows)
