"""Signals to frames and back, exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays, checks
from phinmf._types import Array

MANY_CHANNELS = 64  #: more than that with fewer samples is no sound, or lies the other way
FEW_CHANNELS = 8  #: rows of a sound that lies the other way; a spectrogram has more


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
    signal = whole_signal("y", y)
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
    checks.refuse_other("Y", Y, checks.FRAMES_NEEDED)
    frames = checks.real_array("Y", Y)
    if frames.ndim not in (2, 3):
        raise ValueError(
            f"Y has shape {frames.shape}, but (M, N) or (channels, M, N) is needed: pass the frames"
            " of one component at a time, or call Result.to_sound"
        )
    M, N = frames.shape[-2:]
    length = checks.count("length", length, 1)
    if not fits(length, M, N):
        refuse_transpose(frames, length)
    hop = even(M) // 2
    longest = (N - 1) * hop
    shortest = max(1, longest - hop + 1)
    checks.count("length", length, shortest, longest, f" for {N} frames of {M} samples")
    windowed = frames.reshape(-1, M, N).transpose(0, 2, 1) * window(M).astype(frames.dtype)
    inside = windowed[:, 1:, :hop] + windowed[:, :-1, hop:]
    y = inside.reshape(len(inside), -1)[:, :length].T
    return y[:, 0] if frames.ndim == 2 else y


def fits(length: int, M: int, N: int) -> bool:
    """Whether a signal has N frames of M samples."""
    return M > 0 and M % 2 == 0 and frame_count(length, M) == N


def refuse_transpose(frames: Array, length: int) -> None:
    """Raise if frames that do not fit the length of a signal probably lie the other way."""
    M, N = frames.shape[-2:]
    if fits(length, N, M) or (M % 2 and N > 0 and N % 2 == 0):
        how = "Y.T" if frames.ndim == 2 else "Y.swapaxes(1, 2)"
        raise ValueError(
            f"Y has shape {frames.shape}, which is {N} frames of {M} samples, but frames of"
            f" {N} samples are probably meant: pass the transpose, {how}"
        )


def whole_signal(name: str, y: ArrayLike) -> Array:
    """Return the signal of a whole recording; raise if it probably lies the other way."""
    signal = real_signal(name, y)
    refuse_transposed_signal(name, signal)
    return signal


def refuse_transposed_signal(name: str, signal: Array) -> None:
    """Raise if there are many more channels than samples."""
    if signal.ndim == 2 and signal.shape[1] > max(MANY_CHANNELS, len(signal)):
        n, channels = signal.shape
        advice = f"(n, channels) is needed: pass {name.split()[0]}.T"
        if n > FEW_CHANNELS:
            advice = "the samples of a sound are needed, of shape (n,) or (n, channels)"
        raise ValueError(
            f"{name} has shape {signal.shape}, which is {n} samples on {channels} channels, but"
            f" {advice}"
        )


def real_signal(name: str, y: ArrayLike) -> Array:
    """Return a signal (n,) or (n, channels) of finite numbers, float32 or float64."""
    needed = "the samples of the sound itself are needed, of shape (n,) or (n, channels)"
    advice = "the samples are needed: read them with soundfile.read"
    checks.refuse_other(name, y, advice, needed)
    signal = checks.real_array(name, y)
    if signal.ndim not in (1, 2) or signal.size == 0:
        raise ValueError(
            f"{name} has shape {signal.shape}, but (n,) or (n, channels) with n ≥ 1 is needed"
        )
    return signal


def even(M: int) -> int:
    """Check a frame length and return it."""
    M = checks.count("M", M, 2)
    if M % 2:
        raise ValueError(
            f"M is {M}, but frames that overlap by half need an even length: use {M + 1}"
        )
    return M
