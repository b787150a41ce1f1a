"""Small sound files of every kind."""

import numpy as np
import soundfile

RATE = 8000


def tones(n=6000, channels=1, seed=0):
    """Two decaying tones in turn with a little noise, peaking below 1."""
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    y = 0.003 * rng.standard_normal((n, channels))
    for start, frequency in ((0, 0.31), (n // 3, 0.47), (2 * n // 3, 0.31)):
        decay = np.exp(-(t[start:] - start) / 800) * np.sin(frequency * t[start:])
        y[start:] += 0.4 * decay[:, None] * np.linspace(1, 0.5, channels)
    return y


def write(path, y=None, rate=RATE, **how):
    soundfile.write(path, tones() if y is None else y, rate, **how)
    return path


def integers(path):
    """Samples as integers of the file's own width."""
    from phinmf.audio import BITS

    bits = BITS[soundfile.info(path).subtype]
    return soundfile.read(path, dtype="int32", always_2d=True)[0].astype(np.int64) >> (32 - bits)
