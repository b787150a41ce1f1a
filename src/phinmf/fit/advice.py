"""Warnings about frames that can be fitted, but are probably not what was meant."""

from __future__ import annotations

import math

from phinmf._types import AnyArray
from phinmf.arrays import namespace
from phinmf.arrays.lazy import is_lazy
from phinmf.fit.options import FitOptions
from phinmf.warn import warn

MANY_SAMPLES = 8192  #: in a frame, which is longer than any window for sound
FEW_ENTRIES = 1000  #: frames with fewer are not judged by their signs


def advise(frames: AnyArray, options: FitOptions) -> None:
    """Warn if frames (C, M, N) probably lie the other way, or are a spectrogram."""
    _, M, N = frames.shape
    if M >= MANY_SAMPLES and M >= 4 * N:
        warn(
            f"there are {N} frames of {M} samples each, few and very long: if the frames lie the"
            " other way, pass the transpose",
            UserWarning,
        )
    learns_transform = options.algorithm.solver is not None
    if learns_transform and not is_lazy(frames) and is_spectrogram(frames):
        warn(
            "no sample of the frames is negative, as if they were a spectrogram: the transform is"
            " learned from the frames of the sound itself, which phinmf.to_frames makes",
            UserWarning,
        )


def is_spectrogram(frames: AnyArray) -> bool:
    """Whether frames have no negative sample, and are neither flat nor mostly silent."""
    xp = namespace(frames)
    if math.prod(frames.shape) < FEW_ENTRIES:
        return False
    if xp.any(frames[:, :, : 1 + FEW_ENTRIES // frames.shape[1]] < 0):  # true of most sounds
        return False
    if xp.any(frames < 0) or int(xp.sum(frames > 0)) * 2 < math.prod(frames.shape):
        return False
    varied = xp.max(frames, axis=1) > 1.001 * xp.min(frames, axis=1)
    return int(xp.sum(varied)) * 2 > math.prod(varied.shape)
