"""Start from the Karhunen–Loève transform of the frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import Array
from phinmf.arrays import cast, contiguous
from phinmf.inits.base import Frames, Init


@dataclass(frozen=True)
class KLT(Init):
    """Eigenvectors of the covariance of the frames: no transform has more energy in n atoms."""

    draws = False

    def start(self, frames: Frames, rng: np.random.Generator, dtype: DTypeLike) -> Array:
        """Return the eigenvectors as rows, strongest first, where the frames are."""
        return contiguous(cast(frames.karhunen_loeve[0], dtype))
