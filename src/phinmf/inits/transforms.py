"""Transforms that a fit starts from as they are: DCT, DFT, eigenvectors, random, an array."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import DTypeLike

from phinmf import checks
from phinmf._types import AnyArray, Array
from phinmf.arrays import cast, contiguous, copied
from phinmf.errors import InvalidValue
from phinmf.inits.base import Frames, Init
from phinmf.linalg.manifold import dct, dft, orthogonality_error, random_orthogonal


@dataclass(frozen=True)
class DCT(Init):
    """The orthogonal DCT-II: atoms are cosines, the lowest frequency first."""

    draws = False
    counts = True

    def start(self, frames: Frames, rng: np.random.Generator, dtype: DTypeLike) -> Array:
        """Return the DCT-II of M samples."""
        return dct(frames.M, dtype)


@dataclass(frozen=True)
class DFT(Init):
    """The real DFT: cosine and sine of each bin, one after the other, the lowest first."""

    draws = False
    counts = True

    def start(self, frames: Frames, rng: np.random.Generator, dtype: DTypeLike) -> Array:
        """Return the real DFT of M samples."""
        return dft(frames.M, dtype)


@dataclass(frozen=True)
class RandomOrthogonal(Init):
    """A draw from the uniform (Haar) distribution of orthogonal matrices."""

    def start(self, frames: Frames, rng: np.random.Generator, dtype: DTypeLike) -> Array:
        """Return a random orthogonal matrix, drawn on the host, where the frames are."""
        return random_orthogonal(frames.M, rng, dtype, frames.Y)


@dataclass(frozen=True)
class KLT(Init):
    """Eigenvectors of the covariance of the frames: no transform has more energy in n atoms."""

    draws = False

    def start(self, frames: Frames, rng: np.random.Generator, dtype: DTypeLike) -> Array:
        """Return the eigenvectors as rows, strongest first, where the frames are."""
        return contiguous(cast(frames.karhunen_loeve[0], dtype))


@dataclass(frozen=True, eq=False)
class Continuation(Init):
    """The transform of another fit, an array or a tensor (M, M), which is not checked again."""

    Phi: AnyArray = field(repr=False)
    draws = False
    all_atoms = True
    counts = True

    def start(self, frames: Frames, rng: np.random.Generator, dtype: DTypeLike) -> Array:
        """Return a copy of the transform."""
        return copied(self.Phi, dtype)


@dataclass(frozen=True, eq=False)
class ArrayInit(Continuation):
    """An orthogonal array or tensor, checked when this object is made.

    Parameters
    ----------
    Phi : array of shape (M, M)
        Its rows are the atoms.
    """

    def __post_init__(self) -> None:
        Phi = checks.real_array("init", self.Phi)
        object.__setattr__(self, "Phi", Phi)
        if Phi.ndim != 2 or Phi.shape[0] != Phi.shape[1]:
            raise InvalidValue(
                f"init has shape {tuple(Phi.shape)}, but a transform of frames of length M has"
                " shape (M, M); or choose a name such as 'dct'"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            error = orthogonality_error(cast(Phi, np.float64))
        if not error <= 1e-4:
            raise InvalidValue(
                f"init is not orthogonal: |ΦΦᵀ - I| reaches {error:.2g}, but at most 1e-4 is"
                " accepted; phinmf.linalg.manifold.polar gives the nearest orthogonal matrix"
            )

    def start(self, frames: Frames, rng: np.random.Generator, dtype: DTypeLike) -> Array:
        """Return a copy of the array, whose size must be that of the frames."""
        M = frames.M
        if len(self.Phi) != M:
            raise InvalidValue(
                f"init has shape {tuple(self.Phi.shape)}, but a transform of frames of length {M}"
                f" has shape {(M, M)}; or choose a name such as 'dct'"
            )
        return super().start(frames, rng, dtype)
