"""Frames of many or long sound files as one dask array, read when they are needed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from phinmf import checks
from phinmf._types import Array
from phinmf.arrays import lazy
from phinmf.audio.frames import even, frame_count, to_frames

if TYPE_CHECKING:
    from phinmf.audio.files import Excerpt

CHUNK = 2**26  #: bytes of a chunk, approximately


def frames_from_files(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
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
