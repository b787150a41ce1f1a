"""How many atoms a fit learns, and the subspace that it learns them in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phinmf._types import Array
from phinmf.algorithm.subspace import Subspace, atoms_holding
from phinmf.arrays import cast, dtype_of, namespace
from phinmf.fit.data import Data
from phinmf.inits.covariance import LARGE, karhunen_loeve


@dataclass(frozen=True)
class FewAtoms:
    """A number of atoms, less than all, and the subspace that they span."""

    number: int
    subspace: Subspace

    @classmethod
    def of(cls, n_atoms: int | float, data: Data) -> FewAtoms | None:
        """Return this number of atoms, or those of this share of the energy; None if all."""
        large = data.Y.shape[1] >= LARGE
        subspace = leading_of(data, n_atoms) if large else Subspace(*data.weighted.karhunen_loeve)
        P = n_atoms if isinstance(n_atoms, int) else subspace.holding(n_atoms)
        return cls(P, subspace) if len(subspace.powers) > P else None

    def nearest(self, Phi: Array) -> Array:
        """Return the transform diag(Q, I) U with the strongest atoms of Φ, projected, as Q."""
        _, Q = self.subspace.strongest(Phi, self.number)
        return cast(self.subspace.transform(Q), dtype_of(Phi))

    def in_double(self, Phi: Array) -> Array:
        """Return a transform diag(Q, I) U of lower precision, orthogonal in double precision."""
        P, U = self.number, self.subspace.basis
        return self.subspace.transform(cast(Phi[:P], np.float64) @ U[:P].mT)

    def pooled(self, W: Array, share: float) -> Array:
        """Return W with one mean row for all atoms beyond those that hold a share of the energy."""
        n = max(self.number, self.subspace.holding(share))
        xp = namespace(W)
        if n == len(W):
            return W
        mean = xp.mean(W[n:], axis=0, keepdims=True)
        return xp.concat([W[:n], xp.broadcast_to(mean, W[n:].shape)])

    @property
    def energy(self) -> float:
        """The share of the energy that they hold."""
        return self.subspace.share(self.number)


def leading_of(data: Data, n_atoms: int | float) -> Subspace:
    """Return the strongest atoms of the Karhunen–Loève transform, and any basis of the rest."""

    def enough(powers: Array, total: float) -> int | None:
        P = n_atoms if isinstance(n_atoms, int) else atoms_holding(n_atoms, powers, total)
        return P if len(powers) >= P else None

    return Subspace(*karhunen_loeve(data.Y, data.weights, enough))


def check_length(n_atoms: int | float | None, M: int) -> None:
    """Refuse more atoms than the M samples of a frame allow."""
    if isinstance(n_atoms, int) and n_atoms > M:
        raise ValueError(
            f"n_atoms is {n_atoms}, but frames of {M} samples have {M} atoms: take at most as many,"
            " or a share of the energy such as 0.999"
        )


def shares(before: Array, Phi: Array) -> Array:
    """Return (ΦΦ₀ᵀ)∘², which carries W over from one transform to another.

    Each atom of Φ is a combination of those before, and the squares of its coefficients are the
    shares of their mean power that it has. They sum to 1, and so do columns of W afterwards.
    """
    return (Phi @ before.mT) ** 2
