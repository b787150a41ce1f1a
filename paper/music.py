"""Music besides the recordings: files, if there are any, and synthesised pieces."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import numpy as np
import soundfile
import soxr

import phinmf
from phinmf.audio.example import example, pluck

SUFFIXES = (".wav", ".flac", ".ogg", ".mp3")
MUSICAL_PACKAGE = "arcade"  #: a game library whose wheel contains two pieces of music
MOST = 4  #: pieces
SAMPLE_RATE = 11_025  #: of the paper's recording, in Hz


def sound_files() -> list[Path]:
    """Files in $PHINMF_MUSIC, and those in a package that contains music."""
    folder = os.environ.get("PHINMF_MUSIC")
    own = sorted(p for p in Path(folder).iterdir() if p.suffix in SUFFIXES) if folder else []
    try:
        inside = [f for f in files(MUSICAL_PACKAGE) or [] if f.suffix in SUFFIXES]
    except PackageNotFoundError:
        inside = []
    return own + sorted(Path(str(f.locate())) for f in inside if "music" in f.parts)


def guitar(seconds: float = 40.0) -> tuple[np.ndarray, int]:
    """Chords on plucked strings, strummed: I-vi-IV-V in D."""
    rate = 16_000
    rng = np.random.default_rng(7)
    y = np.zeros(round(seconds * rate))
    chords = [
        (38, 45, 50, 54, 57),
        (35, 42, 47, 50, 54),
        (43, 47, 50, 55, 59),
        (33, 45, 49, 52, 57),
    ]
    for beat in range(int(seconds)):
        for string, midi in enumerate(chords[beat // 2 % 4]):
            note = pluck(440 * 2 ** ((midi - 69) / 12), 1.9, rng)
            start = round((beat + 0.02 * string) * rate)
            note = note[: len(y) - start]
            y[start : start + len(note)] += note
    return y, rate


def two_notes(number: int) -> tuple[np.ndarray, int]:
    """A4, B♭4 and both, a second each, with their octaves: (number, 2, 15000), random phases."""
    rate = 5_000
    rng = np.random.default_rng(8)
    t = np.arange(3 * rate) / rate
    swell = np.abs(np.sin(np.pi * t))
    y = np.zeros((number, 2, len(t)))
    for note, (frequency, rest) in enumerate(((440.0, 1), (466.16, 0))):
        for octave, level in ((1, 0.25), (2, 0.12)):
            phase = 2 * np.pi * rng.random((number, 1))
            y[:, note] += level * np.sin(2 * np.pi * octave * frequency * t + phase)
        y[:, note] *= swell * (t // 1 != rest)
    return y, rate


def frames(y: np.ndarray, rate: int, seconds: float | None, new_rate: float, M: int) -> np.ndarray:
    """Frames (M, N) of the first seconds of a sound (all of it: None), mono, at a new rate."""
    y = y if y.ndim == 1 else y.mean(axis=1)
    y = y[: round(seconds * rate)] if seconds else y
    return phinmf.to_frames(soxr.resample(y, rate, new_rate) if rate != new_rate else y, M)


def pieces(M: int, seconds: float | None) -> dict[str, np.ndarray]:
    """Frames of each piece, 40 ms windows; at most a minute of a file."""
    sounds = {path.stem: soundfile.read(path) for path in sound_files()[:MOST]}
    sounds = {name: (y[: 60 * rate], rate) for name, (y, rate) in sounds.items()}
    sounds["built-in example"] = example().mixture, example().sample_rate
    if len(sounds) < 3:
        sounds["strummed chords (synthesised)"] = guitar()
    new_rate = SAMPLE_RATE * M / 440
    return {name: frames(y, rate, seconds, new_rate, M) for name, (y, rate) in sounds.items()}
