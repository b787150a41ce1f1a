"""Signals to frames and back, exactly: whole, in sound files, or as they arrive.

`to_frames` and `from_frames` are for a signal in memory. `frames_from_files` makes a dask array,
whose frames are read when they are needed; `stream_frames` yields frames in order.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from phinmf import arrays, checks
from phinmf._types import Array, Precision
from phinmf.arrays import lazy
from phinmf.errors import InvalidType, InvalidValue

if TYPE_CHECKING:
    from phinmf.audio.files import Excerpt

Path = str | os.PathLike[str]
MANY_CHANNELS = 64  #: more than that with fewer samples is no sound, or lies the other way
SAMPLES = (
    "the samples of a sound are needed, of shape (n,) or (n, channels): soundfile.read returns them"
    " and their rate"
)
CHUNK = 2**26  #: bytes of a chunk of a dask array, approximately


def window(M: int) -> Array:
    """w_n = sin(π(n+½)/M): the squares of two windows half a length apart sum to 1."""
    return np.sin(np.pi * (np.arange(M) + 0.5) / M)


def frame_count(length: int, M: int) -> int:
    """N = ceil(n / (M/2)) + 1, the number of frames of M samples of a signal of n samples."""
    return -(-length // (M // 2)) + 1


def to_frames(y: ArrayLike, M: int) -> Array:
    """Cut a signal into windowed frames that overlap by half.

    Parameters
    ----------
    y : array of shape (n,) or (n, channels)
        A signal of at least one sample. Integers keep their scale: samples of 16 bits are in
        ±1, as soundfile reads them, if they are divided by 32768.
    M : int
        Frame length, even.

    Returns
    -------
    array of shape (M, N) or (channels, M, N)
        N = ceil(n / (M/2)) + 1 frames, each contiguous in memory; half a frame of zeros is put
        before and after the signal, so that every sample is in two frames.
    """
    if arrays.is_tensor(y):
        return arrays.like(to_frames(arrays.to_numpy(y), M), y)
    signal = whole_signal(y)
    M = even(M)
    hop = M // 2
    channels = signal.reshape(len(signal), -1).T
    C, n = channels.shape
    N = frame_count(n, M)
    padded = np.zeros((C, (N + 1) * hop), dtype=signal.dtype)
    padded[:, hop : hop + n] = channels
    Y = windowed(padded, M)
    return Y[0] if signal.ndim == 1 else Y


def windowed(channels: Array, M: int) -> Array:
    """Return all frames (C, M, n) of samples (C, (n+1) M/2): half a frame apart, and windowed."""
    halves = channels.reshape(len(channels), -1, M // 2)
    frames = np.concatenate([halves[:, :-1], halves[:, 1:]], axis=2)
    frames *= window(M).astype(channels.dtype)
    return frames.transpose(0, 2, 1)


def from_frames(Y: ArrayLike, length: int) -> Array:
    """Overlap-add frames: the exact inverse of `to_frames`.

    Parameters
    ----------
    Y : array of shape (M, N) or (channels, M, N)
        Frames, as `to_frames` makes them.
    length : int
        Number of samples of the signal.

    Returns
    -------
    array of shape (length,) or (length, channels)
        The signal.
    """
    if arrays.is_tensor(Y):
        return arrays.like(from_frames(arrays.to_numpy(Y), length), Y)
    frames = checks.real_array("Y", Y, checks.FRAMES)
    if frames.ndim not in (2, 3):
        raise InvalidValue(
            f"Y has shape {frames.shape}, but (M, N) or (channels, M, N) is needed: pass the frames"
            " of one component at a time, or call Result.to_sound"
        )
    M, N = frames.shape[-2:]
    length = checks.count("length", length, 1)
    hop = M // 2
    if M < 2 or M % 2 or frame_count(length, M) != N:
        raise InvalidValue(
            f"length is {length}, but Y has {N} frames of {M} samples (an even number is needed),"
            f" which hold from {max(1, (N - 2) * hop + 1)} to {(N - 1) * hop} samples: pass the"
            " length of the signal, or Y.swapaxes(-1, -2) if Y lies the other way"
        )
    windowed = frames.reshape(-1, M, N).transpose(0, 2, 1) * window(M).astype(frames.dtype)
    inside = windowed[:, 1:, :hop] + windowed[:, :-1, hop:]
    y = inside.reshape(len(inside), -1)[:, :length].T
    return y[:, 0] if frames.ndim == 2 else y


def whole_signal(y: ArrayLike) -> Array:
    """Return the signal of a whole recording; raise if it probably lies the other way."""
    signal = real_signal("y", y)
    if signal.ndim == 2 and signal.shape[1] > max(MANY_CHANNELS, len(signal)):
        n, channels = signal.shape
        raise InvalidValue(
            f"y has shape {signal.shape}, which is {n} samples on {channels} channels, but the"
            " samples of a sound are needed, of shape (n,) or (n, channels): if it lies the other"
            " way, pass y.T"
        )
    return signal


def real_signal(name: str, y: ArrayLike) -> Array:
    """Return a signal (n,) or (n, channels) of finite numbers, float32 or float64."""
    signal = checks.real_array(name, y, SAMPLES)
    if signal.ndim not in (1, 2) or signal.size == 0:
        raise InvalidValue(
            f"{name} has shape {signal.shape}, but (n,) or (n, channels) with n ≥ 1 is needed"
        )
    return signal


def even(M: int) -> int:
    """Check a frame length and return it."""
    M = checks.count("M", M, 2)
    if M % 2:
        raise InvalidValue(
            f"M is {M}, but frames that overlap by half need an even length: use {M + 1}"
        )
    return M


def precision(dtype: DTypeLike) -> Precision:
    """Check the type of frames and return it."""
    return np.dtype(checks.choice("dtype", np.dtype(dtype).name, ("float32", "float64")))


def frames_from_files(
    paths: Path | Sequence[Path], M: int, *, dtype: DTypeLike = np.float32
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

    Returns
    -------
    dask array of shape (M, N) or (channels, M, N)
        The frames, in chunks of about 64 MB; channels are an axis if there are several.

    Examples
    --------
    >>> import phinmf
    >>> Y = phinmf.frames_from_files(["a.wav", "b.wav"], 64)
    >>> phinmf.tl_nmf(Y, n_components=8, max_iter=5, tol=0).W.shape
    (64, 8)
    """
    from phinmf.audio import files  # libsndfile is loaded when there is something to read

    dask, M, kind = lazy.dask(), even(M), precision(dtype)
    listed = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not listed:
        raise InvalidValue("paths is empty, but at least one sound file is needed")
    recordings = [files.excerpt(os.path.abspath(path)) for path in listed]
    C = recordings[0].channels
    chunk = max(1, CHUNK // (C * M * kind.itemsize))  # frames
    read, pieces = dask.delayed(read_frames, pure=True), []
    for recording in recordings:
        check_alike(recordings[0], recording)
        N = frame_count(recording.length, M)
        for a in range(0, N, chunk):
            b = min(a + chunk, N)
            frames = read(recording, M, a, b, kind.name)
            pieces.append(dask.array.from_delayed(frames, (C, M, b - a), kind))
    Y = dask.array.concatenate(pieces, axis=2)
    return Y[0] if C == 1 else Y


def check_alike(first: Excerpt, other: Excerpt) -> None:
    """Raise unless both recordings have the same sampling rate and number of channels."""
    if (other.sample_rate, other.channels) != (first.sample_rate, first.channels):
        raise InvalidValue(
            f"{other.sound.path} is {other.sound} and {first.sound.path} is {first.sound}, but"
            " recordings that are fitted together need the same sampling rate and number of"
            " channels: convert one of them"
        )


def read_frames(recording: Excerpt, M: int, a: int, b: int, dtype: str) -> Array:
    """Return frames a to b of those that `to_frames` makes of a recording."""
    recording.check_unchanged()
    hop = M // 2
    first, last = max(a - 1, 0) * hop, min(b * hop, recording.length)  # samples they stand on
    y = recording.read(first, last - first).astype(dtype)
    Y = to_frames(y, M)  # zeros come before; only the first frame of the recording needs them
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
    M, kind = even(M), precision(dtype)
    if isinstance(source, (str, os.PathLike)):
        source = [source]
    if isinstance(source, np.ndarray) or not isinstance(source, Iterable):
        raise InvalidType(
            f"source is {type(source).__name__}, but a path, or an iterable of paths or of pieces"
            " of sound is needed: to_frames takes a whole signal"
        )
    return chain.from_iterable(framed(signal, M, kind) for signal in signals(iter(source)))


def signals(source: Iterator[Any]) -> Iterator[Iterable[ArrayLike]]:
    """Yield the pieces of each signal: of every file, or of the one that arrives in pieces."""
    first = None
    for item in source:
        if not isinstance(item, (str, os.PathLike)):
            yield chain([item], source)
            return
        from phinmf.audio import files  # libsndfile is loaded when there is something to read

        recording = files.excerpt(item)
        first = first or recording
        check_alike(first, recording)
        blocks = recording.blocks()
        yield (block[:, 0] for block in blocks) if first.channels == 1 else blocks


def framed(pieces: Iterable[ArrayLike], M: int, dtype: DTypeLike) -> Iterator[Array]:
    """Yield the frames of one signal as soon as their samples have arrived."""
    hop, shape = M // 2, None
    waiting: Array = np.zeros((1, 0))  #: (C, n)
    for number, piece in enumerate(pieces, 1):
        if np.size(piece) == 0:
            continue
        name = f"piece {number} of the sound"
        signal = real_signal(name, piece).astype(dtype, copy=False)
        channels = signal.reshape(len(signal), -1).T
        if shape is None:
            shape = signal.shape[1:]
            waiting = np.zeros((len(channels), hop), dtype)  # half a frame of zeros comes before
        if signal.shape[1:] != shape:
            expected = "(n,)" if not shape else f"(n, {shape[0]})"
            raise InvalidValue(f"{name} has shape {signal.shape}, but before it was {expected}")
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
