"""Frames in blocks of one size, however they were cut when they arrived."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phinmf import arrays
from phinmf._types import Array
from phinmf.arrays.levels import levels
from phinmf.fit import scaling


@dataclass(frozen=True)
class Block:
    """Frames with sound, and what they weigh."""

    Y: Array  #: (C, M, n), as given
    weights: Array | None  #: (n,), all positive, on the host; None: all are 1
    energy: float  #: Σ y², weighted

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.Y.shape[2] if self.weights is None else self.weights.sum())

    def check_scale(self, scale: float) -> None:
        """Raise if powers of frames of this root mean square cannot be computed."""
        largest = scaling.largest_power(dtype := arrays.dtype_of(self.Y))
        if not 1 / largest < scale < largest:
            raise ValueError(
                f"the frames have root mean square {scale:.3g}, whose square leaves the range of"
                f" {dtype}: scale them nearer to 1"
            )


def converted(name: str, Y: Array, example: Array) -> Array:
    """A copy of frames of the kind, on the device and in the precision of an example."""
    dtype = arrays.dtype_of(example)
    with np.errstate(over="ignore"):  # looked for next
        found = arrays.copied(arrays.like(Y, example), dtype)
    if not bool(arrays.namespace(found).isfinite(found).all()):
        raise ValueError(
            f"{name} has values that {dtype}, the precision of the first frames, cannot hold:"
            " scale them nearer to 1, or give all frames in float64"
        )
    return found


def with_sound(Y: Array, weights: Array | None = None) -> Block | None:
    """Leave out frames that are exactly zero or of weight 0; None if nothing is left."""
    known = levels(Y)
    heard = arrays.to_numpy(~known.silent)
    if weights is not None:
        heard = heard & (weights > 0)
    kept = np.flatnonzero(heard)
    if not len(kept):
        return None
    some = None if weights is None else weights[kept]
    energies = arrays.to_numpy(known.energies)[kept]
    energy = energies.sum() if some is None else energies @ some
    with np.errstate(over="ignore"):  # an infinite one is found by `check_scale`
        energy = float(np.ldexp(energy, 2 * known.exponent))
    return Block(arrays.take_frames(Y, kept), some, energy)


class Waiting:
    """Frames (C, M, n) that have arrived, and their weights, until there are enough for a block."""

    def __init__(self) -> None:
        self.parts: list[tuple[Array, Array]] = []

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return sum(Y.shape[2] for Y, _ in self.parts)

    def put(self, Y: Array, weights: Array | None = None) -> None:
        """Add frames; without weights each counts once."""
        self.parts.append((Y, np.ones(Y.shape[2]) if weights is None else weights))

    def take(self, size: int) -> tuple[Array, Array | None]:
        """Remove the first frames, at most so many, and return them with their weights."""
        taken: list[tuple[Array, Array]] = []
        while size and self.parts:
            Y, weights = self.parts.pop(0)
            taken.append((Y[:, :, :size], weights[:size]))
            if len(rest := weights[size:]):
                few = len(rest) < size  # do not keep the memory of all for them
                left = arrays.copied(Y[:, :, size:]) if few else Y[:, :, size:]
                self.parts.insert(0, (left, rest))
            size -= len(taken[-1][1])
        xp = arrays.namespace(taken[0][0])
        Y = taken[0][0] if len(taken) == 1 else xp.concat([part for part, _ in taken], axis=2)
        weights = np.concatenate([w for _, w in taken])
        return Y, None if (weights == 1).all() else weights
