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
from phinmf.errors import InvalidValue
from phinmf.warn import warn

FEW_ENTRIES = 1000  #: frames with fewer are not judged by their values
PAIRS = 64  #: of successive frames are compared, at most twice as many
FEW_PAIRS = 3  #: that are not silent; fewer prove nothing
FEW_SAMPLES = 8  #: in a frame; fewer prove nothing
SAME = 1e-4  #: largest relative difference between overlaps, well above rounding
VARIED = 1.5  #: largest and smallest value of a frame of a spectrogram, as a ratio


def refuse_transposed(frames: AnyArray, sample_weight: ArrayLike | None) -> None:
    """Raise if the samples of frames (C, M, N) are frames of `to_frames`.

    One weight for each frame says which axis they have, so that nothing is refused.
    """
    _, M, N = frames.shape
    if sample_weight is None and overlap_by_half(frames.swapaxes(1, 2)):
        raise InvalidValue(
            f"there are {N} frames of {M} samples each, but they look like {M} frames of {N}"
            " samples that lie the other way: pass the transpose, or sample_weight=1 if they are"
            " meant so"
        )


def overlap_by_half(frames: AnyArray) -> bool:
    """Whether frames (C, M, N) are successive ones of `to_frames`.

    Two successive frames hold the same samples in the half where they overlap, each of them times
    its own half of the window. Arrays that `to_frames` did not make have no reason to do so.
    """
    _, M, N = frames.shape
    if is_lazy(frames) or math.prod(frames.shape) < FEW_ENTRIES or M % 2 or M < FEW_SAMPLES:
        return False
    w, half = window(M)[:, None], M // 2
    step = max(1, (N - 1) // PAIRS)
    before = arrays.to_numpy(frames[:, half:, :-1:step]) * w[:half]
    after = arrays.to_numpy(frames[:, :half, 1::step]) * w[half:]
    loudest = np.maximum(np.abs(before), np.abs(after)).max(axis=(0, 1))
    same = np.abs(before - after).max(axis=(0, 1)) <= SAME * loudest
    n_loud = int((loudest > 0).sum())
    return n_loud >= FEW_PAIRS and 2 * int(same[loudest > 0].sum()) >= n_loud


def advise(frames: AnyArray, options: Options) -> None:
    """Warn if frames (C, M, N) that a transform is learned from are probably a spectrogram.

    Its values have one sign, most of them are not 0, and they vary within most frames, which those
    of a sound with a large offset do not.
    """
    entries = math.prod(frames.shape)
    if options.solver is None or is_lazy(frames) or entries < FEW_ENTRIES:
        return
    xp = namespace(frames)
    first = frames[:, :, : 1 + FEW_ENTRIES // frames.shape[1]]
    for part in (first, frames):  # the first frames are enough for most sounds
        has_negative = bool(xp.any(part < 0))
        if has_negative and xp.any(part > 0):
            return
    sizes = xp.abs(frames)
    varied = xp.max(sizes, axis=1) > VARIED * xp.min(sizes, axis=1)
    filled = 2 * int(xp.sum(sizes > 0)) >= entries
    if not filled or 2 * int(xp.sum(varied)) <= math.prod(varied.shape) or overlap_by_half(frames):
        return
    sign, what = "negative", "spectrogram"
    if has_negative:
        sign, what = "positive", "spectrogram in decibels"
    warn(
        f"no sample of the frames is {sign}, as if they were a {what}: the transform is learned"
        " from the frames of the sound itself, which phinmf.to_frames makes",
        UserWarning,
    )
