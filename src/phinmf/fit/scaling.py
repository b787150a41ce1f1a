"""How loud frames are: what can be computed with in their precision, and their scaling."""

from __future__ import annotations

import math

import numpy as np

from phinmf import arrays
from phinmf._types import AnyArray, Array, Precision
from phinmf.arrays import dtype_of, namespace
from phinmf.arrays.lazy import is_lazy
from phinmf.arrays.levels import Levels, each, pieces_of, threads_for
from phinmf.arrays.threads import parallel_map

QUIETEST = 1e-30  #: power of a frame, relative to the mean, below which it needs a floor


def check_levels(level: Levels, floor: float, dtype: Precision) -> None:
    """Raise for values that are not finite, frames without any sound, or a floor below rounding."""
    if level.bad:
        raise ValueError(f"Y has {level.bad} NaN or infinite values: remove or replace them")
    silent = int(level.silent.sum())
    if silent == len(level.largest):
        raise ValueError("Y is all zero: there is nothing to learn from silence")
    if floor == 0 and silent:
        raise ValueError(
            f"floor is 0 but {silent} frames are exactly zero, which costs infinitely much:"
            " set floor to a small number such as 1e-8, or leave these frames out"
        )
    least = 100 * float(np.finfo(dtype).eps) ** 2  # 100 times the rounding error of |ΦY|²
    if floor < least and not (floor == 0 and dtype == np.float64):
        raise ValueError(
            f"floor is {floor:g}, but in {dtype} at least {least:.2g} is needed to be more than"
            " rounding: raise it, or pass Y as float64"
        )


def largest_power(dtype: Precision) -> float:
    """The largest number that can still be squared."""
    return float(np.finfo(dtype).max) ** 0.5


def check_range(dtype: Precision, **options: float) -> None:
    """Raise if an option, at unit power, is too large for the precision of the data."""
    for name, value in options.items():
        if not value < largest_power(dtype):
            raise ValueError(
                f"{name} is {value:g}, but at most {largest_power(dtype):.2g} can be computed with"
                f" in {dtype}"
            )


def check_fixed_columns(W: Array, scale: float, dtype: Precision) -> None:
    """Raise if fixed columns of W have a scale for which activations leave the range of numbers."""
    reach = math.log2(float(np.finfo(dtype).max)) - 64  # room for large and small activations
    for s in arrays.to_numpy(namespace(W).sum(W, axis=0)).tolist():
        unit = 0 if s == 0 else 2 * math.log2(scale) - math.log2(s)
        if not (abs(unit) < reach and s < largest_power(dtype)):
            raise ValueError(
                f"a fixed column of W has sum {s:.3g}, for which activations of frames of root mean"
                f" square {scale:.3g} leave the range of {dtype}: scale it nearer to 1"
            )


def unit_power(Y: AnyArray, weights: Array | None, level: Levels) -> tuple[AnyArray, float]:
    """Return a copy of Y at mean power 1, in the engines' layout, and the root mean square it had.

    Scaling by a power of two first avoids overflow and makes the result the same, to the bit,
    for every power-of-two multiple of Y.
    """
    energies, exponent, dtype = level.energies, level.exponent, dtype_of(Y)
    shares = None if weights is None else arrays.like(weights / weights.sum(), energies)
    mean = float(energies.mean() if shares is None else energies @ shares)
    rms = math.sqrt(mean / (Y.shape[0] * Y.shape[1]))
    root = math.ldexp(rms, exponent)
    largest = largest_power(dtype)
    # of a frame, which its activations add up to
    loudest = math.log2(float(energies.max())) / 2 + exponent
    if not 1 / largest < root or loudest > math.log2(largest) - 2:
        raise ValueError(
            f"Y has root mean square {root:.3g}, whose square leaves the range of {dtype}:"
            " scale Y nearer to 1"
        )
    if is_lazy(Y):
        return Y.map_blocks(to_scale, exponent, rms, dtype=Y.dtype), root
    return to_scale(Y, exponent, rms, threads_for(Y)), root


def to_scale(Y: Array, exponent: int, rms: float, n_threads: int | None = 1) -> Array:
    """Y · 2^-exponent / rms, a copy: arrays of NumPy have their frames contiguous."""
    divisor = float(dtype_of(Y).type(rms))
    if arrays.is_tensor(Y):
        scaled = arrays.times_power_of_two(Y, -exponent)
        scaled /= divisor
        return scaled
    C, M, N = Y.shape
    result = arrays.room_for_frames((C, N, M), Y.dtype).transpose(0, 2, 1)

    def scale(piece: Array, scaled: Array) -> None:
        np.ldexp(piece, -exponent, out=scaled)
        scaled /= divisor

    pairs = zip(pieces_of(Y), pieces_of(result), strict=True)
    for _ in parallel_map(lambda pair: scale(*pair), pairs, n_threads):
        pass
    return result


def check_entries(Phi: Array, Y: AnyArray, learned: bool) -> None:
    """Raise for a floor of 0 if an entry of ΦY is zero, or if learning Φ can make one zero."""
    xp, M = namespace(Phi), len(Phi)
    instead = "which costs infinitely much: set floor to a small number such as 1e-8"
    silent = sum(each(lambda y: int(xp.sum(~xp.any((Phi @ y) ** 2, axis=0))), Y))
    if silent:
        raise ValueError(f"floor is 0 but {silent} entries of ΦY are zero at the start, {instead}")
    least = min(each(lambda y: float(xp.min(xp.mean(y * y, axis=(0, 1)))), Y))
    if least < QUIETEST:
        raise ValueError(
            f"floor is 0 but a frame has {least:.2g} of the mean power, zero but for rounding,"
            f" {instead}"
        )
    if learned and M > 1:
        products = each(lambda y: arrays.to_numpy(xp.sum(y @ y.mT, axis=0)), Y)
        energies = np.linalg.eigvalsh(sum(products))
        rank = int((energies > M * np.finfo(np.float64).eps * energies[-1]).sum())
        if rank < M:
            raise ValueError(
                f"floor is 0 but the frames have rank {rank}, and the transform of {M} samples"
                f" can make entries zero, {instead}"
            )
