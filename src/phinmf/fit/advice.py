"""Frames that can be fitted, but are not what was meant, or probably not."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays
from phinmf._types import AnyArray
from phinmf.algorithm.options import Options
from phinmf.arrays import namespace
from phinmf.arrays.lazy import is_lazy
from phinmf.audio.frames import window
from phinmf.warn import warn

MANY_SAMPLES = 8192  #: in a frame, which is longer than any window for sound
FEW_ENTRIES = 1000  #: frames with fewer are not judged by their values
PAIRS = 64  #: of successive frames are compared, at most twice as many
FEW_PAIRS = 3  #: that are not silent; fewer prove nothing
FEW_SAMPLES = 8  #: in a frame: as many may be the channels of a sound
MANY_FRAMES = 1000  #: for each sample of a frame, if these are few
SAME = 1e-4  #: largest relative difference between overlaps, well above rounding


def refuse_transposed(frames: AnyArray, sample_weight: ArrayLike | None) -> None:
    """Raise if the samples of frames (C, M, N) are frames of `to_frames`.

    One weight for each frame says which axis they have, so that nothing is refused.
    """
    if sample_weight is None and (what := transposed(frames)):
        raise ValueError(f"{what}: pass the transpose, or sample_weight=1 if they are meant so")


def transposed(frames: AnyArray) -> str | None:
    """Say so if frames (C, M, N) lie the other way; those of a dask array are not looked at."""
    _, M, N = frames.shape
    if not in_memory(frames) or not overlap_by_half(frames.swapaxes(1, 2)):
        return None
    return (
        f"there are {N} frames of {M} samples each, but they look like {M} frames of {N} samples"
        " that lie the other way"
    )


def in_memory(frames: AnyArray) -> bool:
    """Whether the values of frames can be looked at, and are enough to judge them by."""
    return not is_lazy(frames) and math.prod(frames.shape) >= FEW_ENTRIES


def advise(
    frames: AnyArray, options: Options, *, more_come: bool = False, channels: bool = False
) -> None:
    """Warn if frames (C, M, N) are probably a sound or a spectrogram, or lie the other way.

    If `more_come`, they are the first of a stream, and that they are few means nothing. They may be
    `channels` of a sound where that makes sense, as in independent component analysis. The values
    of a dask array are not looked at: they may be in files or on a cluster.
    """
    _, M, N = frames.shape
    if in_memory(frames) and not channels and is_sound(frames):
        warn(
            f"there are {N} frames of {M} samples each, which look like a sound of {M} channels:"
            f" cut it into frames with phinmf.to_frames, which takes a sound of shape ({N}, {M})",
            UserWarning,
        )
    elif M >= MANY_SAMPLES and M >= 4 * N and not more_come:
        warn(
            f"there are {N} frames of {M} samples each, few and very long: if Y is a sound, cut it"
            " into frames with phinmf.to_frames; if the frames lie the other way, pass the"
            " transpose",
            UserWarning,
        )
    learns_transform = options.solver is not None
    missing = missing_sign(frames) if learns_transform and in_memory(frames) else None
    if missing is not None and not overlap_by_half(frames):  # a sound may have an offset
        what = "spectrogram" if missing == "negative" else "spectrogram in decibels"
        warn(
            f"no sample of the frames is {missing}, as if they were a {what}: the transform is"
            " learned from the frames of the sound itself, which phinmf.to_frames makes",
            UserWarning,
        )


def is_sound(frames: AnyArray) -> bool:
    """Whether frames (1, M, N) are so short and so many that they may be a sound of M channels."""
    C, M, N = frames.shape
    if C > 1 or M > FEW_SAMPLES or N < MANY_FRAMES * M:
        return False
    return not overlap_by_half(frames, least=2)


def overlap_by_half(frames: AnyArray, least: int = FEW_SAMPLES) -> bool:
    """Whether frames (C, M, N) of at least so many samples are successive ones of `to_frames`.

    Two successive frames hold the same samples in the half where they overlap, each of them times
    its own half of the window. Arrays that `to_frames` did not make have no reason to do so.
    """
    _, M, N = frames.shape
    if M % 2 or least > M:  # so few samples prove nothing
        return False
    w, half = window(M)[:, None], M // 2
    step = max(1, (N - 1) // PAIRS)
    before = arrays.to_numpy(frames[:, half:, :-1:step]) * w[:half]
    after = arrays.to_numpy(frames[:, :half, 1::step]) * w[half:]
    loudest = np.maximum(np.abs(before), np.abs(after)).max(axis=(0, 1))
    same = np.abs(before - after).max(axis=(0, 1)) <= SAME * loudest
    n_loud = int((loudest > 0).sum())
    return n_loud >= FEW_PAIRS and 2 * int(same[loudest > 0].sum()) >= n_loud


def missing_sign(frames: AnyArray) -> str | None:
    """Return the sign that no sample has; None for sounds, silence and flat frames.

    Negative samples must differ by a factor of 2, as decibels do: those of a sound with a large
    offset do not.
    """
    xp = namespace(frames)
    few = frames[:, :, : 1 + FEW_ENTRIES // frames.shape[1]]
    if xp.any(few < 0) and xp.any(few > 0):  # true of most sounds
        return None
    has_negative = bool(xp.any(frames < 0))
    if has_negative and xp.any(frames > 0):
        return None
    if int(xp.sum(frames != 0)) * 2 < math.prod(frames.shape):
        return None
    if has_negative:
        return "positive" if float(xp.min(frames)) < 2 * float(xp.max(frames)) else None
    varied = xp.max(frames, axis=1) > 1.001 * xp.min(frames, axis=1)
    return "negative" if int(xp.sum(varied)) * 2 > math.prod(varied.shape) else None
