"""Names, groups and sound files that somebody may type or have on a disk."""

import os

import numpy as np
import soundfile
from sound_files import RATE, tones

NAMES = [
    "song", "a song", " ", "x ", "-dash", "--overwrite", "[red]x", "a\nb", "\x1b[31mred",
    "\u202eright", "émoji 🎵", "stray\udcff", "dot.dot", ".hidden", "..", "...", "{track}",
    "{number}", "%s", "*", "?", "~", "$HOME", "a'b\"c", "back\\slash", "result", "model", "report",
    "out", "Song", "e\u0301", "é", "n" * 120, "n" * 251, "ö" * 125, "=", "a=b", "\t", "\x7f",
]  # fmt: skip
GROUPS = [
    "a=1", "a=1 b=2", "a=1,2", "rest=1", "REST=1", "a=0", "a=3", "a=1 a=2", "a=1,1", "", " ", "a",
    "=1", "a=", "a=-1", "a=1.5", ".a=1", "../a=1", "component_01=1", "result=1", "A=1 a=2",
    "[red]=1", "\x1b[31m=1", "\udcff=1", "é=1 e\u0301=2", "a=" + "9" * 5000, "n" * 250 + "=1",
    "a=１", "part_1=1", "model=1", "a\u2028b=1", "*=1", "a=1;b=2", "🎵=2",
]  # fmt: skip
FORMATS = ["WAV", "wav", ".flac", "FLAC", "OGG", "MP3", "OPUS", "AIFF", "W64", "CAF", "AU", "RF64",
           "WAVEX", "RAW", "SDS", "MAT5", "", "../x", "XYZ", "[red]", "VOC"]  # fmt: skip
SUBTYPES = ["PCM_16", "PCM_24", "PCM_32", "PCM_U8", "PCM_S8", "FLOAT", "DOUBLE", "VORBIS", "ULAW",
            "ALAC_16", "MS_ADPCM", "GSM610", "OPUS", "", "x", "pcm_16"]  # fmt: skip
KINDS = [
    (format, subtype)
    for format in ("WAV", "FLAC", "AIFF", "W64", "CAF", "AU", "RF64", "WAVEX", "OGG", "MP3", "VOC",
                   "NIST", "SVX", "PAF", "IRCAM", "MAT4", "MAT5", "SDS", "AVR", "HTK")
    for subtype in soundfile.available_subtypes(format)
]  # fmt: skip
USUAL = [("WAV", "PCM_16"), ("WAV", "PCM_24"), ("FLAC", "PCM_16"), ("WAV", "FLOAT"),
         ("AIFF", "PCM_24"), ("WAV", "PCM_U8"), ("WAV", "PCM_32"), ("WAV", "DOUBLE")]  # fmt: skip


def pick(rng, choices):
    return choices[int(rng.integers(len(choices)))]


def write_sane(path, rng):
    """A short recording in a usual format."""
    y = tones(int(rng.integers(600, 3000)), int(rng.integers(1, 4)), seed=int(rng.integers(9)))
    put(path, y, *pick(rng, USUAL))


def write_hostile(path, rng):
    """A recording of any format, length and content, possibly damaged."""
    format, subtype = pick(rng, KINDS if rng.random() < 0.6 else USUAL)
    n = pick(rng, [0, 1, 2, 31, 63, 64, 65, 500, 800, 1000, 1500, 2000, 2500, 2999])
    y = tones(n, int(rng.integers(1, 4))) if n > 2 else np.full((n, 1), 0.25)
    content = rng.integers(8)
    if content == 0:
        y = 0 * y
    elif content == 1:
        y = y * pick(rng, [1e-300, 1e-40, 1e-6, 3, 1e6, 1e30, 1e37, 1e300])
    elif content == 2 and n:
        y[rng.integers(n)] = pick(rng, [np.nan, np.inf, -np.inf, 1e30])
    elif content == 3:
        y = np.sign(y) + (y == 0)  # as loud as can be
    elif content == 4:
        y[: n // 2] = 0
    try:
        put(path, y, format, subtype, pick(rng, [RATE] * 9 + [44100, 48000, 1, 99, 500000]))
    except (soundfile.LibsndfileError, ValueError, TypeError, AssertionError):
        # what libsndfile does not write; an assertion of soundfile fails if it writes a part of it
        put(path, y[:, :1], "WAV", "PCM_16")
    spoil(path, rng)


def put(path, y, format, subtype, rate=RATE):
    if subtype.startswith(("ULAW", "ALAW", "MPEG")):
        y = np.nan_to_num(y).clip(-1, 1)  # beyond it libsndfile crashes
    with np.errstate(over="ignore"), open(path, "wb") as file:
        soundfile.write(file, y, rate, format=format, subtype=subtype)


def spoil(path, rng):
    """Sometimes cut a file, flip bits of it, add to it, or put noise or a pipe in its place."""
    data = bytearray(path.read_bytes())
    kind = rng.integers(16)
    if kind == 0:
        del data[int(rng.integers(len(data) + 1)) :]
    elif kind == 1 and data:
        for place in rng.integers(min(len(data), pick(rng, [64, 400, 10**9])), size=4):
            data[place] ^= 1 << int(rng.integers(8))
    elif kind == 2:
        data += rng.bytes(int(rng.integers(1, 500)))
    elif kind == 3 and rng.random() < 0.5:
        data = bytearray(rng.bytes(300))
    path.write_bytes(data)
    if rng.random() < 0.02:
        path.unlink()
        os.mkfifo(path)
