"""Frames of many or long sound files as one dask array, read when they are needed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from phinmf import checks
from phinmf._types import Array
from phinmf.arrays import lazy
from phinmf.audio.frames import even, to_frames

if TYPE_CHECKING:
    from phinmf.audio.files import Sound

CHUNK = 2**26  #: bytes of a chunk, about


def frames_from_files(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    M: int,
    *,
    dtype: DTypeLike = np.float32,
    chunk: int | None = None,
) -> Any:
    """Make a dask array of the frames of sound files, as `to_frames` would: nothing is read yet.

    Every recording has frames of its own, none spans two of them, and they follow each other in
    the order of the paths. On a cluster the workers read the files, and must see the same paths.

    Parameters
    ----------
    paths : path or sequence of paths
        Sound files of one sampling rate and number of channels.
    M : int
        Frame length, even.
    dtype : {"float32", "float64"}
        Of the frames.
    chunk : int, optional
        Frames that are read together; by default about 64 MB of them.

    Returns
    -------
    dask array of shape (M, N), or (channels, M, N) if there are several channels

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
    checks.known("dtype", kind.name, ("float32", "float64"))
    sounds = [files.probe(path) for path in listed]
    first = sounds[0]
    for sound in sounds[1:]:
        for what, unit in (("sample_rate", "Hz"), ("channels", "channels")):
            here, there = getattr(sound, what), getattr(first, what)
            if here != there:
                raise ValueError(
                    f"{sound.path} has {here} {unit} and {first.path} has {there}, but recordings"
                    " that are fitted together need the same: convert one of them"
                )
    da = lazy.dask().array
    parts = [frames_of(sound, 0, sound.length, M, kind, chunk) for sound in sounds]
    Y = da.concatenate(parts, axis=2)
    return Y[0] if first.channels == 1 else Y


def frames_of(
    sound: Sound, start: int, length: int, M: int, dtype: DTypeLike, chunk: int | None = None
) -> Any:
    """Frames (channels, M, N) of a stretch of one recording."""
    dask = lazy.dask()
    hop, kind = even(M) // 2, np.dtype(dtype)
    N = -(-length // hop) + 1
    if chunk is None:
        chunk = max(1, CHUNK // (sound.channels * M * kind.itemsize))
    chunk = checks.count("chunk", chunk, 1)
    path = sound.path.absolute()
    changed = path.stat().st_mtime_ns, path.stat().st_size
    read = dask.delayed(read_frames, pure=True)
    parts = []
    for a in range(0, N, chunk):
        b = min(a + chunk, N)
        piece = read(path, changed, start, length, M, a, b, kind.name)
        parts.append(dask.array.from_delayed(piece, (sound.channels, M, b - a), kind))
    return dask.array.concatenate(parts, axis=2)


def read_frames(
    path: Any, changed: Any, start: int, length: int, M: int, a: int, b: int, dtype: str
) -> Array:
    """Frames a to b of those that `to_frames` makes of samples from `start` on."""
    from phinmf.audio import files

    if (path.stat().st_mtime_ns, path.stat().st_size) != changed:
        raise ValueError(
            f"{path} has changed since frames_from_files looked at it: call that again"
        )
    hop = M // 2
    first, last = max(a - 1, 0) * hop, min(b * hop, length)  # of the samples they stand on
    y = files.read(files.probe(path), start + first, last - first).astype(dtype)
    Y = to_frames(y, M)  # with zeros before, which belong to the first frame of all alone
    return Y[:, :, min(a, 1) :][:, :, : b - a]
