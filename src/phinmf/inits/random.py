"""Start from a random transform."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import Array
from phinmf.inits.base import Frames, Init
from phinmf.linalg.manifold import random_orthogonal


@dataclass(frozen=True)
class RandomOrthogonal(Init):
    """A draw from the uniform (Haar) distribution of orthogonal matrices."""

    def start(self, frames: Frames, rng: np.random.Generator, dtype: DTypeLike) -> Array:
        """Return a random orthogonal matrix, drawn on the host, where the frames are."""
        return random_orthogonal(frames.M, rng, dtype, frames.Y)
