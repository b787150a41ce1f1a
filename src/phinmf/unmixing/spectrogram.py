"""A spectrogram to look at: a byte for each of some moments and of some bands of frequencies.

The bands are equally wide on a logarithmic scale, from `lowest` to half the sampling rate. A byte
is a level in decibels: 255 is a sine at full scale. Samples are read in their order and forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from phinmf._types import Array
from phinmf.arrays.threads import single_threaded_blas

COLUMNS = 2000  #: most moments
ROWS = 256  #: bands
LOWEST = 40.0  #: Hz
RANGE = 110.0  #: dB from byte 0 to byte 255
FRAME = 0.1  #: seconds of a frame, about
FINEST = 16  #: columns of a frame at most


def lowest(sample_rate: int) -> float:
    """Return the lowest frequency that is shown."""
    return min(LOWEST, sample_rate / 20)


def spectrogram(blocks: Iterable[Array], length: int, sample_rate: int) -> NDArray[np.uint8]:
    """Return the bytes (columns, `ROWS`) of `length` samples, which come in blocks (n, channels).

    All channels are added as powers. Columns are equally far apart; each is the mean of frames that
    leave no sample out.
    """
    M = max(16, 2 ** round(np.log2(FRAME * sample_rate)))
    hop = max(M // FINEST, -(-length // COLUMNS))
    each = -(-hop // M)  # frames of a column
    columns, stride = -(-length // hop), hop / each
    starts = np.round((np.arange(columns * each) + 0.5) * stride).astype(int)  # in `y`, padded
    w = np.hanning(M + 1)[:-1].astype(np.float32)
    bands = weights(M, sample_rate) * np.float32((2 / w.sum()) ** 2)
    powers = np.zeros((columns * each, ROWS), np.float32)
    first, done, y = 0, 0, None
    for block in padded(blocks, M):
        y = block if y is None else np.concatenate([y, block])
        ready = int(np.searchsorted(starts, first + len(y) - M, side="right"))
        if ready > done:
            frames = sliding_window_view(y, M, axis=0)[starts[done:ready] - first]
            X = np.fft.rfft(frames * w)
            with single_threaded_blas:  # the products are small
                powers[done:ready] = np.square(np.abs(X)).sum(axis=1).astype(np.float32) @ bands
            done = ready
        used = min(len(y), int(starts[done]) - first) if done < len(starts) else len(y)
        first, y = first + used, y[used:]
    levels = 10 * np.log10(powers.reshape(columns, each, ROWS).mean(axis=1) + 1e-20)
    return np.rint(255 * (1 + levels / RANGE)).clip(0, 255).astype(np.uint8)


def padded(blocks: Iterable[Array], M: int) -> Iterable[Array]:
    """Yield blocks in single precision with silence before and after them, for frames of M."""
    silence: Array | None = None
    for block in blocks:
        if silence is None:
            silence = np.zeros((M // 2, block.shape[1]), np.float32)
            yield silence
        yield block.astype(np.float32)
    if silence is not None:
        yield np.concatenate([silence] * 3)


def weights(M: int, sample_rate: int) -> Array:
    """Return how much each bin of a frame of M belongs to each band: (M/2 + 1, `ROWS`).

    A band wider than a bin is the sum of its bins; a narrower one lies between two bins.
    """
    edges = np.geomspace(lowest(sample_rate), sample_rate / 2, ROWS + 1) * M / sample_rate
    middle, half = (edges[1:] + edges[:-1]) / 2, np.maximum(1, np.diff(edges)) / 2
    away = np.abs(np.arange(M // 2 + 1)[:, None] - middle) - (half - 0.5)
    return (1 - away.clip(0, 1)).astype(np.float32)
