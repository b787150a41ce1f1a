"""The frames of a fit: weighted, without those that do not count, and at unit power."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays
from phinmf._types import AnyArray, Array, Indices, Mask
from phinmf.algorithm.options import Options
from phinmf.algorithm.schedule import SINGLE_PAYS, Schedule
from phinmf.algorithm.subspace import Subspace
from phinmf.arrays import lazy
from phinmf.arrays.cluster import in_memory
from phinmf.arrays.lazy import is_lazy
from phinmf.arrays.levels import levels
from phinmf.engines.base import links_among
from phinmf.fit import scaling
from phinmf.fit.weights import in_own_unit, weights_of
from phinmf.inits import Frames
from phinmf.once import once


@dataclass(frozen=True)
class Data:
    """The frames of a caller, and those that Algorithm 1 sees."""

    frames: AnyArray  #: (C, M, N) of the caller: an array, a tensor or a dask array
    frame_weights: Array | None  #: (N,) of the caller
    unit: float  #: what sums must be multiplied by to be in the unit of these weights
    Y: AnyArray  #: (C, M, n): the frames of the fit, at unit power
    scale: float  #: root mean square that they had
    weights: Array | None  #: (n,), all positive; None: all are 1
    used: Indices | slice  #: which of the caller's frames have a weight
    columns: Indices | slice  #: of Y, for each of those frames
    links: Mask | None  #: (n,): whether each frame of the fit follows the one before; None: all do

    @once
    def weighted(self) -> Frames:
        """The frames of the fit and their weights, as an init sees them."""
        if isinstance(self.columns, slice):
            return Frames(self.Y, self.weights)
        weights, _ = in_own_unit(self.frame_weights)
        weights = None if weights is None else weights[self.used]
        in_time = Frames(arrays.take_frames(self.Y, self.columns), weights)
        return Frames(self.Y, self.weights, in_time)

    def schedule(
        self, options: Options, subspace: Subspace | None = None, n_atoms: int | None = None
    ) -> Schedule:
        """Return the schedule of a run on these frames."""
        C, M, N = self.Y.shape
        whole = self.weights is None or bool((self.weights % 1 == 0).all())
        if self.weights is not None and whole:
            N = int(self.weights.sum())
        return Schedule(
            options,
            (C, M, N),
            arrays.dtype_of(self.Y),
            may_sample=whole and not options.smoothness,  # a sample has no neighbours
            subspace=subspace,
            n_atoms=n_atoms,
        )


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
    frame_weights, weights, unit = None, None, 1.0
    if sample_weight is not None:
        frame_weights = weights_of(sample_weight, frames.shape[2])
        weights, unit = in_own_unit(frame_weights)
    floor, penalty = options.floor, options.penalty
    scaling.check_range(
        arrays.dtype_of(frames),
        sparsity=penalty.sparsity,
        smoothness=penalty.smoothness,
        floor=floor,
    )
    used: Indices | slice = slice(None)
    columns: Indices | slice = slice(None)
    links: Mask | None = None
    Y = frames
    if weights is not None and not weights.all():
        used = np.flatnonzero(weights)
        Y, weights = arrays.take_frames(Y, used), weights[used]
        links = links_among(used, np.ones(frames.shape[2], bool))
    level = levels(Y)
    if not isinstance(used, slice) and level.silent.all():
        raise ValueError("the frames whose weight is not 0 are all zero: nothing can be learned")
    scaling.check_levels(level, floor, arrays.dtype_of(Y))
    if may_merge and not options.penalty.smoothness and math.prod(Y.shape) < SINGLE_PAYS:
        few = in_memory(Y) if is_lazy(Y) else Y
        few, weights, columns = merge(few, weights)
        links = None  # frames are in another order
        level = levels(few)
        Y = lazy.dask().array.from_array(few, chunks=-1) if is_lazy(Y) else few
    Y, scale = scaling.unit_power(Y, weights, level)
    return Data(frames, frame_weights, unit, Y, scale, weights, used, columns, links)


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
