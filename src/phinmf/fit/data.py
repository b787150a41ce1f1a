"""The frames of a fit: weighted, without those that do not count, and at unit power."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays, checks
from phinmf._types import AnyArray, Array, Indices, Mask, Precision
from phinmf.algorithm.options import Options
from phinmf.algorithm.schedule import SINGLE_PAYS
from phinmf.arrays import lazy
from phinmf.arrays.cluster import in_memory
from phinmf.arrays.lazy import is_lazy
from phinmf.arrays.levels import Levels, levels, pieces_of, threads_for
from phinmf.arrays.threads import parallel_map
from phinmf.engines.base import links_among
from phinmf.errors import InvalidValue
from phinmf.inits import Frames

RANGE = 2.0**32  #: largest weight, and 1 by the smallest that the largest of all weights may be


@dataclass(frozen=True, kw_only=True)
class Data(Frames):
    """The frames of a caller, and those that Algorithm 1 sees: (C, M, n) `Frames` at unit power."""

    frames: AnyArray  #: (C, M, N) of the caller: an array, a tensor or a dask array
    frame_weights: Array | None  #: (N,) of the caller
    scale: float  #: root mean square of the frames that have a weight
    used: Indices | slice  #: which of the caller's frames have a weight
    columns: Indices | slice  #: of Y, for each of those frames
    links: Mask | None  #: (n,): whether each frame of the fit follows the one before; None: all do


def data_of(
    frames: AnyArray,
    options: Options,
    *,
    sample_weight: ArrayLike | None = None,
    may_merge: bool = True,
) -> Data:
    """Leave out frames (C, M, N) of weight 0, and scale the rest to unit power.

    The frames are those that `checks.frames` returns.
    """
    Y, N = frames, frames.shape[2]
    weights = frame_weights = weights_of(sample_weight, N)
    used: Indices | slice = slice(None)
    columns: Indices | slice = slice(None)
    links: Mask | None = None
    if weights is not None and not weights.all():
        used = np.flatnonzero(weights)
        Y, weights = arrays.take_frames(Y, used), weights[used]
        links = links_among(used, np.ones(N, bool))
    level = levels(Y)
    check_levels(level, options.floor, arrays.dtype_of(Y))
    weights_in_time, merged = weights, False
    if may_merge and not options.smoothness and math.prod(Y.shape) < SINGLE_PAYS:
        few, merged = in_memory(Y) if is_lazy(Y) else Y, True
        few, weights, columns = merge(few, weights)
        links = None  # frames are in another order
        level = levels(few)
        Y = lazy.dask().array.from_array(few, chunks=-1) if is_lazy(Y) else few
    Y, scale = unit_power(Y, weights, level)
    in_time = Frames(arrays.take_frames(Y, columns), weights_in_time) if merged else None
    return Data(
        Y, weights, in_time, frames=frames, frame_weights=frame_weights, scale=scale, used=used,
        columns=columns, links=links,
    )  # fmt: skip


def merge(Y: Array, weights: Array | None) -> tuple[Array, Array | None, Indices]:
    """Replace equal frames by one of their joint weight, in an order that only frames decide.

    The rounding of a sum depends on the order of its terms, and many iterations amplify it. So a
    small problem gives the same bits in any order, for repeated or for weighted frames. The
    order is found on the host.
    """
    N = Y.shape[2]
    rows = arrays.to_numpy(Y).transpose(2, 0, 1).reshape(N, -1)
    _, first, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    place = place.ravel()
    joint = np.bincount(place, weights=weights)
    weights = None if (joint == 1).all() else joint.astype(np.float64)
    return arrays.take_frames(Y, first), weights, place


def weights_of(sample_weight: ArrayLike | None, N: int, may_be_zero: bool = False) -> Array | None:
    """Return the weight (N,) of each frame, on the host; None if all are 1.

    A number is the weight of all frames. `may_be_zero`: all of them may be 0.
    """
    if sample_weight is None:
        return None
    weight = arrays.to_numpy(checks.real_array("sample_weight", sample_weight)).astype(np.float64)
    if weight.ndim == 0:
        weight = np.full(N, float(weight))
    if weight.shape != (N,) or (weight < 0).any():
        what = f"shape {weight.shape}" if weight.shape != (N,) else f"a value of {weight.min():g}"
        raise InvalidValue(
            f"sample_weight has {what}, but one number ≥ 0 for each of the {N} frames is needed"
        )
    if not weight.any() and not may_be_zero:
        raise InvalidValue("every frame has a weight of zero: there is nothing to learn from")
    if weight.any() and not 1 / RANGE <= weight.max() <= RANGE:
        raise InvalidValue(
            f"sample_weight reaches {weight.max():.3g}, and weighted sums lose precision: divide"
            " all weights by that"
        )
    return None if (weight == 1).all() else weight


# how loud frames are: what can be computed with in their precision, and their scaling


def check_levels(level: Levels, floor: float, dtype: Precision) -> None:
    """Raise for frames without any sound, or a floor below rounding."""
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
    check_scale(rms, level, arrays.dtype_of(Y))
    if is_lazy(Y):
        return Y.map_blocks(to_scale, rms, dtype=Y.dtype), rms
    return to_scale(Y, rms, threads_for(Y)), rms


def to_scale(Y: Array, rms: float, n_threads: int | None = 1) -> Array:
    """Y / rms, a copy: arrays of NumPy have their frames contiguous."""
    divisor = float(arrays.dtype_of(Y).type(rms))
    if arrays.is_tensor(Y):
        return Y / divisor
    C, M, N = Y.shape
    result = arrays.room_for_frames((C, N, M), Y.dtype).transpose(0, 2, 1)

    def scale(pieces: tuple[Array, Array]) -> None:
        np.divide(pieces[0], divisor, out=pieces[1])

    for _ in parallel_map(scale, zip(pieces_of(Y), pieces_of(result), strict=True), n_threads):
        pass
    return result
