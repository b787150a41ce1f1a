"""Frames of a stream in blocks of one size, however they were cut when they arrived."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from phinmf import arrays, checks
from phinmf._types import Array
from phinmf.arrays.levels import levels
from phinmf.fit import power


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
        largest = power.largest_power(dtype := arrays.dtype_of(self.Y))
        if not 1 / largest < scale < largest:
            raise ValueError(
                f"the frames have root mean square {scale:.3g}, whose square leaves the range of"
                f" {dtype}: scale them nearer to 1"
            )


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
    energy = float(energies.sum() if some is None else energies @ some)
    return Block(arrays.take_frames(Y, kept), some, math.ldexp(energy, 2 * known.exponent))
