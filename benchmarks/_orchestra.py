"""A minute of orchestral music at 44.1 kHz in windows of 40 ms."""

from __future__ import annotations

import numpy as np
import soundfile
from _packages import Missing, debian

import phinmf

PACKAGE, PIECE = "wesnoth-1.16-music", "elvish-theme.ogg"
START, SECONDS = 20, 60
RATE, M = 44_100, 1764


def orchestra() -> np.ndarray:
    """Frames (1764, 3001) in single precision."""
    try:
        (path,) = debian(PACKAGE).rglob(PIECE)
    except Missing as missing:
        print(f"The orchestra was not found: {missing}.")
        raise SystemExit(0) from None
    y, _ = soundfile.read(
        path, start=START * RATE, frames=SECONDS * RATE, dtype="float32", always_2d=True
    )
    return phinmf.to_frames(y.mean(axis=1), M)
