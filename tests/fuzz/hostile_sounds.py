"""Sound files of every kind: valid, truncated, with flipped bits, silent, too loud, not finite."""

import os
from pathlib import Path

import numpy as np
import soundfile
from sound_files import RATE, tones

from fuzz.hostile_names import one_of

KINDS = [
    (format, subtype)
    for format in ("WAV", "FLAC", "AIFF", "W64", "CAF", "AU", "RF64", "WAVEX", "OGG", "MP3", "VOC",
                   "NIST", "SVX", "PAF", "IRCAM", "MAT4", "MAT5", "SDS", "AVR", "HTK")
    for subtype in soundfile.available_subtypes(format)
]  # fmt: skip
USUAL = [("WAV", "PCM_16"), ("WAV", "PCM_24"), ("FLAC", "PCM_16"), ("WAV", "FLOAT"),
         ("AIFF", "PCM_24"), ("WAV", "PCM_U8"), ("WAV", "PCM_32"), ("WAV", "DOUBLE")]  # fmt: skip


def write_sane(path: Path, rng: np.random.Generator) -> None:
    """A short recording in a usual format."""
    format, subtype = one_of(rng, USUAL)
    y = tones(int(rng.integers(600, 3000)), int(rng.integers(1, 4)), seed=int(rng.integers(9)))
    put(path, y, format, subtype)


def write_hostile(path: Path, rng: np.random.Generator) -> None:
    """A recording of any format, length and content, possibly damaged."""
    format, subtype = one_of(rng, KINDS if rng.random() < 0.6 else USUAL)
    n = int(one_of(rng, [0, 1, 2, 31, 63, 64, 65, 500, 800, 1000, 1500, 2000, 2500, 2999]))
    y = tones(n, int(rng.integers(1, 4))) if n > 2 else np.full((n, 1), 0.25)
    content = rng.integers(8)
    if content == 0:
        y = 0 * y
    elif content == 1:
        y = y * float(one_of(rng, [1e-300, 1e-40, 1e-6, 3, 1e6, 1e30, 1e37, 1e300]))
    elif content == 2 and n:
        y[rng.integers(n)] = float(one_of(rng, [np.nan, np.inf, -np.inf, 1e30]))
    elif content == 3:
        y = np.sign(y) + (y == 0)  # as loud as can be
    elif content == 4:
        y[: n // 2] = 0
    try:
        put(path, y, format, subtype, int(one_of(rng, [RATE] * 9 + [44100, 48000, 1, 99, 500000])))
    except (soundfile.LibsndfileError, ValueError, TypeError, AssertionError):
        # what libsndfile does not write; an assertion of soundfile fails if it writes a part of it
        put(path, y[:, :1], "WAV", "PCM_16")
    damage(path, rng)


def put(path: Path, y: np.ndarray, format: str, subtype: str, rate: int = RATE) -> None:
    if subtype.startswith(("ULAW", "ALAW", "MPEG")):
        y = np.nan_to_num(y).clip(-1, 1)  # beyond it libsndfile crashes
    with np.errstate(over="ignore"), open(path, "wb") as file:
        soundfile.write(file, y, rate, format=format, subtype=subtype)


def damage(path: Path, rng: np.random.Generator) -> None:
    """Sometimes cut a file, flip bits of it, add to it, or put noise in its place."""
    data = bytearray(path.read_bytes())
    how = rng.integers(16)
    if how == 0:
        del data[int(rng.integers(len(data) + 1)) :]
    elif how == 1 and data:
        for at in rng.integers(min(len(data), int(one_of(rng, [64, 400, 10**9]))), size=4):
            data[at] ^= 1 << int(rng.integers(8))
    elif how == 2:
        data += rng.bytes(int(rng.integers(1, 500)))
    elif how == 3 and rng.random() < 0.5:
        data = bytearray(rng.bytes(300))
    path.write_bytes(data)
    if rng.random() < 0.02:
        path.unlink()
        os.mkfifo(path)
