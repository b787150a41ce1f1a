"""Errors at the doors: one sentence that says what was given, what is needed and what to do."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays
from phinmf._types import Array
from phinmf.arrays import dtype_of, namespace
from phinmf.arrays.lazy import is_lazy, lazy_array, unchunked
from phinmf.arrays.levels import Levels, each, levels

QUIETEST = 1e-30  #: power of a frame, relative to the mean, that can do without a floor


def real_array(name: str, given: ArrayLike) -> Array:
    """Return a finite real array: float32 and float64 are kept, other numbers become float64.

    A tensor stays one, on its device, without its gradient.
    """
    array = tensor(name, given) if arrays.is_tensor(given) else native(np.asarray(given))
    xp = namespace(array)
    if xp.isdtype(array.dtype, "complex floating"):
        raise ValueError(f"{name} is complex, but real numbers are needed: pass {name}.real")
    if isinstance(array, np.ndarray) and array.dtype.kind not in "fiub":
        raise TypeError(f"{name} has dtype {array.dtype}, but real numbers are needed")
    if array.dtype not in (xp.float32, xp.float64):
        array = arrays.cast(array, np.float64)
    bad = math.prod(array.shape) - int(xp.sum(xp.isfinite(array)))
    if bad:
        raise ValueError(f"{name} has {bad} NaN or infinite values: remove or replace them")
    return array


def native(array: Array) -> Array:
    """The same numbers in the byte order of this machine."""
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def tensor(name: str, given: Any) -> Any:
    """Return a tensor that holds numbers, without its gradient."""
    if given.device.type == "meta" or given.is_sparse:
        what = "sparse" if given.is_sparse else "on the device 'meta'"
        raise ValueError(f"{name} is {what}, but numbers are needed: pass a dense tensor of them")
    return given.detach()


def frames(Y: Any) -> Any:
    """Return frames of shape (C, M, N); a dask array stays one, its values are looked at later."""
    array = lazy_array("Y", Y) if is_lazy(Y) else real_array("Y", Y)
    if array.ndim not in (2, 3):
        raise ValueError(
            f"Y has {array.ndim} dimensions, but frames of shape (M, N) or (C, M, N) are needed:"
            " phinmf.to_frames makes them from a signal"
        )
    if 0 in array.shape:
        raise ValueError(f"Y has shape {tuple(array.shape)}, but at least one sample is needed")
    if is_lazy(array):
        return unchunked("Y", array, array.ndim - 1)
    if not namespace(array).any(array):
        raise ValueError("Y is all zero: there is nothing to learn from silence")
    return array if array.ndim == 3 else array[None]


def audible(known: Levels) -> Levels:
    """Refuse frames of a dask array that other frames are refused for at once."""
    if known.bad:
        raise ValueError(f"Y has {known.bad} NaN or infinite values: remove or replace them")
    if known.silent.all():
        raise ValueError("Y is all zero: there is nothing to learn from silence")
    return known


def floor_of(floor: float, known: Levels, dtype: Any) -> None:
    """Raise if the floor is lost in rounding, or if a frame is exactly zero and the floor, too."""
    silent = int(known.silent.sum())
    if floor == 0 and silent:
        raise ValueError(
            f"floor is 0 but {silent} frames are exactly zero, which costs infinitely much:"
            " set floor to a small number such as 1e-8, or leave these frames out"
        )
    least = 100 * float(np.finfo(dtype).eps) ** 2  # of the rounding of |ΦY|², and some
    if floor < least and not (floor == 0 and dtype == np.float64):
        raise ValueError(
            f"floor is {floor:g}, but in {dtype} at least {least:.2g} is needed to be more than"
            " rounding: raise it, or pass Y as float64"
        )


def largest_power(dtype: Any) -> float:
    """The largest number that can still be squared."""
    return float(np.finfo(dtype).max) ** 0.5


def in_range(dtype: Any, **given: float) -> None:
    """Raise if a setting, at unit power, cannot be computed with in the precision of the data."""
    for name, value in given.items():
        if not value < largest_power(dtype):
            raise ValueError(
                f"{name} is {value:g}, but at most {largest_power(dtype):.2g} can be computed with"
                f" in {dtype}"
            )


def kept_columns(W: Array, scale: float, dtype: Any) -> None:
    """Raise if W is to keep columns in a unit in which activations leave the range of numbers."""
    reach = math.log2(float(np.finfo(dtype).max)) - 64  # room for large and small activations
    for s in arrays.to_numpy(namespace(W).sum(W, axis=0)).tolist():
        unit = 0 if s == 0 else 2 * math.log2(scale) - math.log2(s)
        if not (abs(unit) < reach and s < largest_power(dtype)):
            raise ValueError(
                f"a fixed column of W has sum {s:.3g}, for which activations of frames of root mean"
                f" square {scale:.3g} leave the range of {dtype}: scale it nearer to 1"
            )


def unit_power(
    Y: Any, weights: Array | None = None, known: Levels | None = None
) -> tuple[Any, float]:
    """Return a copy of Y at mean power 1, in the engines' layout, and the root mean square it had.

    Scaling by a power of two first avoids overflow and makes the result the same, to the bit,
    for every power-of-two multiple of Y.
    """
    known = known or levels(Y)
    energies, exponent, dtype = known.energies, known.exponent, dtype_of(Y)
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
        return Y.map_blocks(at_scale, exponent, rms, dtype=Y.dtype), root
    return at_scale(Y, exponent, rms), root


def at_scale(Y: Array, exponent: int, rms: float) -> Array:
    """Y · 2^-exponent / rms, in the engines' layout."""
    scaled = arrays.times_power_of_two(Y, -exponent)
    scaled /= float(dtype_of(Y).type(rms))
    return scaled


def entries(Phi: Array, Y: Any, learned: bool) -> None:
    """Refuse a floor of 0 if an entry of ΦY at unit power has none, or a learned Φ may take it."""
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


def number(name: str, given: Any, least: float, strict: bool = False) -> float:
    """Return a finite float, at least (or strictly above) a bound."""
    try:
        value = float(given)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not (math.isfinite(value) and (value > least if strict else value >= least)):
        raise ValueError(
            f"{name} is {given!r}, but a finite number {'>' if strict else '≥'} {least:g} is needed"
        )
    return value


def count(name: str, given: Any, least: int, most: int | None = None, why: str = "") -> int:
    """Return an int between bounds."""
    whole = isinstance(given, (int, np.integer)) or (isinstance(given, float) and given % 1 == 0)
    if isinstance(given, bool) or not whole:
        raise TypeError(f"{name} is {given!r}, but a whole number is needed")
    if given < least or (most is not None and given > most):
        needed = f"≥ {least}" if most is None else f"from {least} to {most}{why}"
        raise ValueError(f"{name} is {given}, but a whole number {needed} is needed")
    return int(given)


def function(name: str, given: Any) -> Any:
    """Return something to call, or None."""
    if given is not None and not callable(given):
        raise TypeError(f"{name} is {given!r}, but a function or None is needed")
    return given


def known(name: str, given: Any, names: Iterable[Any]) -> Any:
    """Return a name that is in a registry."""
    names = list(names)
    if given not in names:
        listed = ", ".join(repr(n) for n in names)
        raise ValueError(f"{name} is {given!r}, which is not known: choose one of {listed}")
    return given


def generator(random_state: Any) -> np.random.Generator:
    """Return a Generator from None, an int, a RandomState or a Generator."""
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31, size=4)
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise TypeError(
            f"random_state is {random_state!r}, but None, a whole number ≥ 0, a RandomState or a"
            " Generator is needed"
        ) from None


def factor(name: str, given: ArrayLike, shape: tuple[int, int], dtype: Any) -> Array:
    """Return a copy of a nonnegative factor of the right shape."""
    array = real_array(name, given)
    if tuple(array.shape) != shape:
        raise ValueError(f"{name} has shape {tuple(array.shape)}, but {shape} is needed")
    xp = namespace(array)
    if xp.any(array < 0):
        least = float(xp.min(array))
        raise ValueError(
            f"{name} has {int(xp.sum(array < 0))} negative values, the least {least:.3g}:"
            " factors are nonnegative"
        )
    return arrays.copied(array, dtype)
