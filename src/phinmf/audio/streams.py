"""Frames of more sound than one array holds: many files, or pieces as they arrive.

`frames_from_files` makes one dask array, which is read when it is needed; `stream_frames` yields
frames in order, from files one after the other or from a microphone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from phinmf import checks
from phinmf._types import Array
from phinmf.arrays import lazy
from phinmf.audio.frames import (
    FEW_CHANNELS,
    even,
    frame_count,
    real_signal,
    refuse_transposed_signal,
    to_frames,
    windowed,
)

if TYPE_CHECKING:
    from phinmf.audio.files import Excerpt

Path = str | os.PathLike[str]
CHUNK = 2**26  #: bytes of a chunk of a dask array, approximately


def frames_from_files(
    paths: Path | Sequence[Path],
    M: int,
    *,
    dtype: DTypeLike = np.float32,
    chunk: int | None = None,
) -> Any:
    """Make a dask array of the frames of sound files, as `to_frames` would: nothing is read yet.

    No frame spans two recordings; the recordings follow each other in the order of the paths. On a
    cluster the workers read the files, so they must see them under the same paths.

    Parameters
    ----------
    paths : path or sequence of paths
        Sound files of one sampling rate and number of channels.
    M : int
        Frame length, even.
    dtype : {"float32", "float64"}
        Type of the frames.
    chunk : int, optional
        Number of frames that are read at a time; by default about 64 MB of them.

    Returns
    -------
    dask array of shape (M, N) or (channels, M, N)
        The frames; channels are an axis if there are several.

    Examples
    --------
    >>> import phinmf
    >>> Y = phinmf.frames_from_files(["a.wav", "b.wav"], 64)
    >>> phinmf.tl_nmf(Y, n_components=8, max_iter=5, tol=0).W.shape
    (64, 8)
    """
    from phinmf.audio import files  # libsndfile is loaded when there is something to read

    listed = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not listed:
        raise ValueError("paths is empty, but at least one sound file is needed")
    kind = np.dtype(dtype)
    checks.choice("dtype", kind.name, ("float32", "float64"))
    sounds = [files.excerpt(path) for path in listed]
    first = sounds[0]
    for other in sounds[1:]:
        check_alike(first, other)
    Y = lazy.dask().array.concatenate(
        [lazy_frames(each, M, kind, chunk) for each in sounds], axis=2
    )
    return Y[0] if first.channels == 1 else Y


def check_alike(first: Excerpt, other: Excerpt) -> None:
    """Raise unless both recordings have the same sampling rate and number of channels."""
    for value, expected, unit in (
        (other.sample_rate, first.sample_rate, "Hz"),
        (other.channels, first.channels, "channels"),
    ):
        if value != expected:
            raise ValueError(
                f"{other.sound.path} has {value} {unit} and {first.sound.path} has {expected}, but"
                " recordings that are fitted together need the same: convert one of them"
            )


def lazy_frames(recording: Excerpt, M: int, dtype: DTypeLike, chunk: int | None = None) -> Any:
    """Return a dask array of the frames (channels, M, N) of a stretch of a sound file."""
    dask = lazy.dask()
    N, kind = frame_count(recording.length, even(M)), np.dtype(dtype)
    if chunk is None:
        chunk = max(1, CHUNK // (recording.channels * M * kind.itemsize))
    chunk = checks.count("chunk", chunk, 1)
    path = recording.sound.path.absolute()
    recording = replace(recording, sound=replace(recording.sound, path=path))
    read = dask.delayed(read_frames, pure=True)
    pieces = []
    for a in range(0, N, chunk):
        b = min(a + chunk, N)
        frames = read(recording, M, a, b, kind.name)
        pieces.append(dask.array.from_delayed(frames, (recording.channels, M, b - a), kind))
    return dask.array.concatenate(pieces, axis=2)


def read_frames(recording: Excerpt, M: int, a: int, b: int, dtype: str) -> Array:
    """Return frames a to b of those that `to_frames` makes of an excerpt."""
    from phinmf.audio import files

    path = recording.sound.path
    if files.identity(path)[2:] != recording.identity[2:]:  # disk and inode differ
        raise ValueError(
            f"{path} has changed since frames_from_files looked at it: call that again"
        )
    hop = M // 2
    first, last = max(a - 1, 0) * hop, min(b * hop, recording.length)  # samples they stand on
    y = recording.read(first, last - first).astype(dtype)
    Y = to_frames(y, M)  # zeros come before; only the first frame of the excerpt needs them
    return Y[:, :, min(a, 1) :][:, :, : b - a]


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
