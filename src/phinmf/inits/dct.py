"""Start from cosines, the transform of the paper's comparisons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import Array
from phinmf.inits.base import Frames, Init
from phinmf.linalg.manifold import dct


@dataclass(frozen=True)
class DCT(Init):
    """The orthogonal DCT-II: atoms are cosines, the lowest frequency first."""

    draws = False
    counts = True

    def start(self, frames: Frames, rng: np.random.Generator, dtype: DTypeLike) -> Array:
        """Return the DCT-II of M samples."""
        return dct(frames.M, dtype)
