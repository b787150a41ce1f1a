"""Frames of sound that arrives piece by piece: from files one after the other, or a microphone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from phinmf import checks
from phinmf._types import Array
from phinmf.audio.frames import FEW_CHANNELS, even, real_signal, refuse_transposed_signal, windowed
from phinmf.audio.many_files import check_alike

Path = str | os.PathLike[str]


def stream_frames(
    source: Path | Iterable[Path | ArrayLike], M: int, *, dtype: DTypeLike = np.float32
) -> Iterator[Array]:
    """Yield the frames of sound as it arrives, those that `to_frames` makes of the whole.

    Only the samples of the last frame are kept in memory, so the sound may be hours long, or never
    end. `TLNMF.partial_fit` learns from the transpose of frames of one channel.

    Parameters
    ----------
    source : path, iterable of paths, or iterable of arrays
        Sound files of one sampling rate and number of channels, which are read one after the
        other (no frame spans two of them); or consecutive pieces of one signal, each an array of
        shape (n,) or (n, channels) with any n, as they come from a microphone.
    M : int
        Frame length, even.
    dtype : {"float32", "float64"}
        Type of the frames.

    Returns
    -------
    iterator of arrays of shape (M, n) or (channels, M, n)
        The next frames; channels are an axis if there are several, or if the pieces have that axis.

    Examples
    --------
    >>> import numpy as np, phinmf
    >>> y = np.random.default_rng(0).standard_normal(1000)
    >>> pieces = (y[i : i + 100] for i in range(0, 1000, 100))
    >>> Y = np.concatenate(list(phinmf.stream_frames(pieces, 64, dtype="float64")), axis=1)
    >>> bool((Y == phinmf.to_frames(y, 64)).all())
    True
    """
    kind = np.dtype(dtype)
    checks.choice("dtype", kind.name, ("float32", "float64"))
    M = even(M)
    if isinstance(source, (str, os.PathLike)):
        source = [source]
    if isinstance(source, np.ndarray) or not isinstance(source, Iterable):
        raise TypeError(
            f"source is {type(source).__name__}, but a path, or an iterable of paths or of pieces"
            " of sound is needed: to_frames takes a whole signal"
        )
    return _frames(iter(source), M, kind)


def _frames(source: Iterator[Any], M: int, dtype: DTypeLike) -> Iterator[Array]:
    """Yield frames of files or of pieces, whichever the source begins with."""
    for first in source:
        everything = chain([first], source)
        if isinstance(first, (str, os.PathLike)):
            yield from _of_files(everything, M, dtype)
        else:
            yield from framed(everything, M, dtype)


def _of_files(paths: Iterator[Path], M: int, dtype: DTypeLike) -> Iterator[Array]:
    """Yield the frames of one file after the other."""
    from phinmf.audio import files  # libsndfile is loaded when there is something to read

    first = None
    for path in paths:
        sound = files.excerpt(path)
        first = first or sound
        check_alike(first, sound)
        blocks = sound.blocks()
        yield from framed((b[:, 0] for b in blocks) if first.channels == 1 else blocks, M, dtype)


def framed(pieces: Iterable[ArrayLike], M: int, dtype: DTypeLike) -> Iterator[Array]:
    """Yield the frames of one signal as soon as their samples have arrived."""
    hop, shape = M // 2, None
    waiting: Array = np.zeros((1, 0))  #: (C, n)
    for number, piece in enumerate(pieces, 1):
        if np.size(piece) == 0:
            continue
        name = f"piece {number} of the sound"
        signal = real_signal(name, piece).astype(dtype, copy=False)
        if shape is None and len(signal) <= FEW_CHANNELS:  # a piece may have more channels
            refuse_transposed_signal(name, signal)
        channels = signal.reshape(len(signal), -1).T
        if shape is None:
            shape = signal.shape[1:]
            waiting = np.zeros((len(channels), hop), dtype)  # half a frame of zeros comes before
        if signal.shape[1:] != shape:
            expected = "(n,)" if not shape else f"(n, {shape[0]})"
            raise ValueError(f"{name} has shape {signal.shape}, but before it was {expected}")
        waiting = np.concatenate([waiting, channels], axis=1)
        whole = waiting.shape[1] // hop * hop
        if whole >= M:
            Y = windowed(waiting[:, :whole], M)
            yield Y if shape else Y[0]
            waiting = waiting[:, whole - hop :].copy()
    if shape is not None:
        after = -waiting.shape[1] % hop + hop  # half a frame of zeros comes after
        Y = windowed(np.pad(waiting, ((0, 0), (0, after))), M)
        yield Y if shape else Y[0]
