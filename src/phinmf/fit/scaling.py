"""How loud frames are: what can be computed with in their precision, and their scaling."""

from __future__ import annotations

import math

import numpy as np

from phinmf import arrays
from phinmf._types import AnyArray, Array, Precision
from phinmf.arrays import dtype_of
from phinmf.arrays.lazy import is_lazy
from phinmf.arrays.levels import Levels, pieces_of, threads_for
from phinmf.arrays.threads import parallel_map
from phinmf.errors import InvalidValue


def check_levels(level: Levels, floor: float, dtype: Precision) -> None:
    """Raise for values that are not finite, frames without any sound, or a floor below rounding."""
    if level.bad:
        raise InvalidValue(f"Y has {level.bad} NaN or infinite values: remove or replace them")
    silent = int((level.largest == 0).sum())
    if silent == len(level.largest):
        raise InvalidValue(
            "Y is all zero where its frames have a weight: there is nothing to learn from silence"
        )
    if floor == 0 and silent:
        raise InvalidValue(
            f"floor is 0 but {silent} frames are exactly zero, which costs infinitely much:"
            " set floor to a small number such as 1e-8, or leave these frames out"
        )
    least = 100 * float(np.finfo(dtype).eps) ** 2  # 100 times the rounding error of |ΦY|²
    if floor < least and not (floor == 0 and dtype == np.float64):
        raise InvalidValue(
            f"floor is {floor:g}, but in {dtype} at least {least:.2g} is needed to be more than"
            " rounding: raise it, or pass Y as float64"
        )


def check_scale(rms: float, level: Levels, dtype: Precision) -> None:
    """Raise if powers cannot be computed of frames with a root mean square and these levels.

    Activations of a frame add up to its energy, and are squared.
    """
    info = np.finfo(dtype)
    quietest = float(info.tiny / info.eps) ** 0.5  # its square has all digits
    if not (rms > quietest and float(level.energies.max()) < float(info.max) / 16):
        raise InvalidValue(
            f"the frames have samples up to {float(level.largest.max()):.3g}, whose powers leave"
            f" the range of {dtype}: scale them nearer to 1"
        )


def unit_power(Y: AnyArray, weights: Array | None, level: Levels) -> tuple[AnyArray, float]:
    """Return a copy of Y at mean power 1, in the engines' layout, and the root mean square it had.

    The bits of the copy are the same for every power-of-two multiple of Y.
    """
    energies = level.energies
    shares = None if weights is None else arrays.like(weights / weights.sum(), energies)
    mean = float(energies.mean() if shares is None else energies @ shares)
    rms = math.sqrt(mean / (Y.shape[0] * Y.shape[1]))
    check_scale(rms, level, dtype_of(Y))
    if is_lazy(Y):
        return Y.map_blocks(to_scale, rms, dtype=Y.dtype), rms
    return to_scale(Y, rms, threads_for(Y)), rms


def to_scale(Y: Array, rms: float, n_threads: int | None = 1) -> Array:
    """Y / rms, a copy: arrays of NumPy have their frames contiguous."""
    divisor = float(dtype_of(Y).type(rms))
    if arrays.is_tensor(Y):
        return Y / divisor
    C, M, N = Y.shape
    result = arrays.room_for_frames((C, N, M), Y.dtype).transpose(0, 2, 1)

    def scale(pieces: tuple[Array, Array]) -> None:
        np.divide(pieces[0], divisor, out=pieces[1])

    for _ in parallel_map(scale, zip(pieces_of(Y), pieces_of(result), strict=True), n_threads):
        pass
    return result
