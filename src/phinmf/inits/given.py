"""Start from a transform that the caller gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from phinmf import checks
from phinmf._types import Array
from phinmf.arrays import cast, copied
from phinmf.inits.base import Frames, Init
from phinmf.linalg.manifold import orthogonality_error


@dataclass(frozen=True, eq=False)
class GivenTransform(Init):
    """An orthogonal array or tensor, checked when this object is made.

    Parameters
    ----------
    Phi : array of shape (M, M)
        Its rows are the atoms.
    """

    Phi: Any = field(repr=False)
    draws = False
    given = True
    counts = True

    def __post_init__(self) -> None:
        Phi = checks.real_array("init", self.Phi)
        object.__setattr__(self, "Phi", Phi)
        if Phi.ndim != 2 or Phi.shape[0] != Phi.shape[1]:
            raise ValueError(
                f"init has shape {tuple(Phi.shape)}, but a transform of frames of length M has"
                " shape (M, M); or choose a name such as 'dct'"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            error = orthogonality_error(cast(Phi, np.float64))
        if not error <= 1e-4:
            raise ValueError(
                f"init is not orthogonal: |ΦΦᵀ - I| reaches {error:.2g}, but at most 1e-4 is"
                " accepted; phinmf.linalg.manifold.polar gives the nearest orthogonal matrix"
            )

    def start(self, frames: Frames, rng: np.random.Generator, dtype: DTypeLike) -> Array:
        """Return a copy of the array, which must fit the frames."""
        return self.of_length(frames.M, dtype)

    def of_length(self, M: int, dtype: DTypeLike) -> Array:
        """Return a copy of the array for frames of M samples."""
        if len(self.Phi) != M:
            raise ValueError(
                f"init has shape {tuple(self.Phi.shape)}, but a transform of frames of length {M}"
                f" has shape {(M, M)}; or choose a name such as 'dct'"
            )
        return copied(self.Phi, dtype)


@dataclass(frozen=True, eq=False)
class KnownTransform(Init):
    """The transform of another fit, which is not checked again."""

    Phi: Any = field(repr=False)
    draws = False
    given = True
    counts = True

    def start(self, frames: Frames, rng: np.random.Generator, dtype: DTypeLike) -> Array:
        """Return a copy of the array."""
        return copied(self.Phi, dtype)
