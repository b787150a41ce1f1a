"""Other pieces of music for Fig. 3a: files if there are any, and two synthesised pieces."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import numpy as np
from setting import Setting

import phinmf
from phinmf.audio.example import example, pluck

SUFFIXES = (".wav", ".flac", ".ogg", ".mp3")
MUSICAL_PACKAGE = "arcade"  #: a game library whose wheel contains two pieces of music
MOST = 4  #: pieces


def sound_files() -> list[Path]:
    """Files in $PHINMF_MUSIC, and those in a package that contains music."""
    folder = os.environ.get("PHINMF_MUSIC")
    found = sorted(p for p in Path(folder).iterdir() if p.suffix in SUFFIXES) if folder else []
    try:
        inside = [f for f in files(MUSICAL_PACKAGE) or [] if f.suffix in SUFFIXES]
    except PackageNotFoundError:
        inside = []
    return found + sorted(Path(str(f.locate())) for f in inside if "music" in f.parts)


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


def pieces(setting: Setting) -> dict[str, np.ndarray]:
    """Frames of each piece, 40 ms windows."""
    found = {}
    for path in sound_files()[:MOST]:
        y, rate = setting.excerpt(path)
        found[path.stem] = y[: 60 * rate], rate
    found["built-in example"] = example().mixture, example().sample_rate
    if len(found) < 3:
        found["strummed chords (synthesised)"] = guitar()
    import soxr

    share = setting.budget.M / 440
    frames = {}
    for name, (y, rate) in found.items():
        y = y[: round((setting.budget.excerpt or 1e9) * rate)]
        y = soxr.resample(y, rate, 11_025 * share) if rate != 11_025 or share != 1 else y
        frames[name] = phinmf.to_frames(y, setting.budget.M)
    return frames
