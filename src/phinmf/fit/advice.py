"""Arrays that can be fitted, but are not frames: transposed frames, and spectrograms."""

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

FEW_ENTRIES = 1000  #: frames with fewer are not judged by their values
PAIRS = 64  #: of successive frames are compared, at most twice as many
FEW_PAIRS = 3  #: that are not silent; fewer prove nothing
FEW_SAMPLES = 8  #: in a frame; fewer prove nothing
SAME = 1e-4  #: largest relative difference between overlaps, well above rounding


def refuse_transposed(frames: AnyArray, sample_weight: ArrayLike | None) -> None:
    """Raise if the samples of frames (C, M, N) are frames of `to_frames`.

    One weight for each frame says which axis they have, so that nothing is refused.
    """
    _, M, N = frames.shape
    if sample_weight is None and judged(frames) and overlap_by_half(frames.swapaxes(1, 2)):
        raise ValueError(
            f"there are {N} frames of {M} samples each, but they look like {M} frames of {N}"
            " samples that lie the other way: pass the transpose, or sample_weight=1 if they are"
            " meant so"
        )


def advise(frames: AnyArray, options: Options) -> None:
    """Warn if frames (C, M, N) that a transform is learned from are probably a spectrogram."""
    if options.solver is None or not judged(frames):
        return
    sign = missing_sign(frames)
    if sign is not None and not overlap_by_half(frames):  # a sound may have an offset
        what = "spectrogram" if sign == "negative" else "spectrogram in decibels"
        warn(
            f"no sample of the frames is {sign}, as if they were a {what}: the transform is"
            " learned from the frames of the sound itself, which phinmf.to_frames makes",
            UserWarning,
        )


def judged(frames: AnyArray) -> bool:
    """Whether frames are judged by their values: not if these are few, or of a dask array."""
    return not is_lazy(frames) and math.prod(frames.shape) >= FEW_ENTRIES


def overlap_by_half(frames: AnyArray) -> bool:
    """Whether frames (C, M, N) are successive ones of `to_frames`.

    Two successive frames hold the same samples in the half where they overlap, each of them times
    its own half of the window. Arrays that `to_frames` did not make have no reason to do so.
    """
    _, M, N = frames.shape
    if M % 2 or M < FEW_SAMPLES:
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
    first = frames[:, :, : 1 + FEW_ENTRIES // frames.shape[1]]
    if xp.any(first < 0) and xp.any(first > 0):  # true of most sounds
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
