"""Hours of music, read as a stream: stretches of recordings, in any order and at any level."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import soundfile
import soxr
from _packages import Missing, debian

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
