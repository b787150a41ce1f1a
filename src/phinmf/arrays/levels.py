"""How loud each frame is: the bits for a frame do not depend on other frames.

Frames (C, M, N) may also be a dask array: it is computed where it is, and only levels are sent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np

from phinmf import arrays
from phinmf._types import AnyArray, Array
from phinmf.arrays import cluster, lazy
from phinmf.arrays.lazy import is_lazy
from phinmf.arrays.threads import parallel_map
from phinmf.errors import InvalidValue

FRAMES = 1024  #: that are processed at a time
THREADS_PAY = 2**22  #: minimum number of samples in memory for which threads save time

Out = TypeVar("Out")


class Levels(NamedTuple):
    """Levels of frames before they are scaled."""

    largest: Array  #: (N,): largest absolute value; 0 of a silent frame
    energies: Array  #: (N,): sum of squares; infinite if it leaves the range of double precision


def each(
    function: Callable[[Array], Out], Y: AnyArray, stretches: list[slice] | None = None
) -> list[Out]:
    """Apply a function to every stretch of frames, and return the results in order.

    By default the stretches are short for arrays in memory, and the chunks for dask arrays.
    """
    if not is_lazy(Y):
        pieces = pieces_of(Y) if stretches is None else (Y[:, :, s] for s in stretches)
        return list(parallel_map(function, pieces, threads_for(Y)))
    if stretches is None:
        ends = np.cumsum(Y.chunks[2])
        stretches = [slice(b - n, b) for n, b in zip(Y.chunks[2], ends.tolist(), strict=True)]
    delayed = lazy.dask().delayed(of_pieces)
    return cluster.compute([delayed(function, cluster.chunks(Y[:, :, s])) for s in stretches])


def of_pieces(function: Callable[[Array], Out], pieces: list[Array]) -> Out:
    """Apply a function to pieces (C, M, …) of frames, joined."""
    return function(pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis=2))


def pieces_of(Y: Array) -> Iterator[Array]:
    """Cut frames (C, M, N) into views that a thread can hold in its cache."""
    for i in range(0, Y.shape[-1], FRAMES):
        yield Y[..., i : i + FRAMES]


def threads_for(Y: AnyArray) -> int | None:
    """Return with how many threads to go through frames: one, or None for all that there are."""
    return 1 if arrays.is_tensor(Y) or math.prod(Y.shape) < THREADS_PAY else None


def energies(Y: Array) -> Array:
    """Return the sum of squares of each frame of (C, M, N) in double precision."""
    parts = [np.zeros(0)]
    for piece in pieces_of(Y):
        rows = np.ascontiguousarray(piece.transpose(2, 0, 1), dtype=np.float64)
        parts.append(np.square(rows).reshape(len(rows), -1).sum(axis=1))
    return np.concatenate(parts)


def levels(Y: AnyArray) -> Levels:
    """Return the levels of all frames, or raise for values that are not finite.

    Those of a tensor, which must be finite, stay on its device.
    """
    if arrays.is_tensor(Y):
        xp = arrays.namespace(Y)
        loudest = arrays.cast(xp.max(xp.abs(Y), axis=(0, 1)), np.float64)
        return Levels(loudest, xp.sum(Y * Y, axis=(0, 1), dtype=xp.float64))
    largest, energy, bad = zip(*each(of_stretch, Y), strict=True)
    if sum(bad):
        raise InvalidValue(
            f"the frames have {sum(bad)} NaN or infinite values: remove or replace them"
        )
    result = Levels(np.concatenate(largest), np.concatenate(energy))
    if len(result.largest) != Y.shape[2]:
        raise InvalidValue(
            f"the dask array of frames says that it has {Y.shape[2]}, but its chunks hold"
            f" {len(result.largest)}: pass da.from_delayed the true shapes of the chunks"
        )
    return result


def of_stretch(Y: Array) -> tuple[Array, Array, int]:
    """Return the largest value of each frame, its energy, and the number of bad values."""
    finite = np.isfinite(Y)
    bad = Y.size - int(finite.sum())
    if bad:
        Y = np.where(finite, Y, 0)
    largest = np.maximum(Y.max(axis=(0, 1)), -Y.min(axis=(0, 1))).astype(np.float64)
    with np.errstate(over="ignore"):
        return largest, energies(Y), bad
