"""How many atoms a fit learns, and the subspace that it learns them in."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from phinmf import checks
from phinmf._types import Array
from phinmf.algorithm.subspace import Subspace
from phinmf.arrays import cast, dtype_of
from phinmf.arrays.lazy import is_lazy
from phinmf.fit.data import Data
from phinmf.result import Result


@dataclass(frozen=True)
class FewAtoms:
    """A number of atoms, less than all, and the subspace that they span."""

    number: int
    subspace: Subspace

    @classmethod
    def of(cls, n_atoms: int | float | None, data: Data) -> FewAtoms | None:
        """Return the atoms that a caller asked for; None if these are all."""
        if n_atoms is None:
            return None
        subspace = subspace_of(data)
        P = n_atoms if isinstance(n_atoms, int) else subspace.holding(n_atoms)
        return cls(P, subspace) if len(subspace.powers) > P else None

    def nearest(self, Phi: Array) -> Array:
        """Return the transform diag(Q, I) U with the strongest atoms of Φ, projected, as Q."""
        return cast(self.start(Phi).basis, dtype_of(Phi))

    def start(self, Phi: Array) -> Subspace:
        """Return the same subspace with these atoms as its basis."""
        _, Q = self.subspace.strongest(Phi, self.number)
        return replace(self.subspace, basis=self.subspace.transform(Q))

    def rows(self, data: Data, Phi: Array) -> Data:
        """Return the frames in terms of the atoms that are learned, the first rows of Φ."""
        atoms = cast(Phi[: self.number], dtype_of(data.Y))
        if not is_lazy(data.Y):
            Z = atoms @ data.Y
        else:
            chunks = (data.Y.chunks[0], (self.number,), data.Y.chunks[2])
            whole = data.Y.rechunk({1: -1})
            Z = whole.map_blocks(partial(np.matmul, atoms), dtype=data.Y.dtype, chunks=chunks)
        return replace(data, frames=Z, Y=Z)

    def noted(self, result: Result) -> Result:
        """Return a result that says how many atoms were learned."""
        return replace(result, n_atoms=self.number, energy=self.subspace.share(self.number))


def subspace_of(data: Data) -> Subspace:
    """Return the Karhunen–Loève transform of the frames of a fit."""
    return Subspace(*data.weighted.karhunen_loeve)


def checked_atoms(n_atoms: Any) -> int | float | None:
    """Return a number of atoms, a share of the energy between 0 and 1, or None for all atoms."""
    if n_atoms is None:
        return None
    if isinstance(n_atoms, numbers.Integral):
        return checks.count("n_atoms", n_atoms, 1)
    share = checks.number("n_atoms", n_atoms, 0, strict=True)
    if share >= 1:
        raise ValueError(
            f"n_atoms is {n_atoms}, but a whole number of atoms, or a share of the energy below 1"
            " such as 0.999, is needed"
        )
    return share


def check_length(n_atoms: int | float | None, M: int) -> None:
    """Refuse more atoms than the M samples of a frame allow."""
    if isinstance(n_atoms, int) and n_atoms > M:
        raise ValueError(
            f"n_atoms is {n_atoms}, but frames of {M} samples have {M} atoms: take at most as many,"
            " or a share of the energy such as 0.999"
        )


def carried_over(W: Array, before: Array, Phi: Array) -> Array:
    """Return W for another transform: the mean power that its atoms then have, (ΦΦ₀ᵀ)∘² W.

    Each atom of Φ is a combination of those before. The squares of its coefficients sum to 1, and
    so do the columns of W afterwards.
    """
    return (Phi @ before.mT) ** 2 @ W
