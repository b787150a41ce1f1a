"""A minute of orchestral music, in windows of 40 ms at any sampling rate."""

from __future__ import annotations

import numpy as np
import soundfile
import soxr
from _packages import Missing, debian

import phinmf

PACKAGE, PIECE = "wesnoth-1.16-music", "elvish-theme.ogg"
START, SECONDS = 20, 60
RATE, M = 44_100, 1764
WINDOW = M / RATE  # s


def orchestra(length: int = M) -> np.ndarray:
    """Frames of `length` samples in single precision, (length, 3001); 1764 is the file's own rate.

    Another length is another sampling rate: the sound stays the same.
    """
    try:
        (path,) = debian(PACKAGE).rglob(PIECE)
    except Missing as missing:
        print(f"The orchestra was not found: {missing}.")
        raise SystemExit(0) from None
    y, rate = soundfile.read(
        path, start=START * RATE, frames=SECONDS * RATE, dtype="float32", always_2d=True
    )
    assert rate == RATE
    mono = y.mean(axis=1)
    if length != M:
        mono = soxr.resample(mono, rate, length / WINDOW)
    return phinmf.to_frames(mono, length)
