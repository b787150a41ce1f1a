"""Few atoms: Φ is learned inside the subspace that holds most of the energy of the frames.

U has the eigenvectors of the covariance as rows, strongest first. Φ = diag(Q, I) U with an
orthogonal P×P matrix Q: the first P atoms are learned, the others stay those of U. While Q is
learned, nothing has more than P rows: the frames are the first P rows of UY, and Algorithm 1 runs
on these as on any frames. The other rows get their part of W at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from phinmf._types import Array
from phinmf.algorithm.model import Iterate
from phinmf.algorithm.nmf import normalise
from phinmf.arrays import (
    cast,
    divided,
    dtype_of,
    identity,
    indices,
    like,
    namespace,
    to_numpy,
)
from phinmf.errors import InvalidValue
from phinmf.linalg.manifold import exactly_orthogonal, orthonormal_rows

TINY = 1e-30  #: sum of activations of a frame that a power cannot be divided by in float32


def check_length(n_atoms: int | float | None, M: int) -> None:
    """Refuse more atoms than the M samples of a frame allow."""
    if isinstance(n_atoms, int) and n_atoms > M:
        raise InvalidValue(
            f"n_atoms is {n_atoms}, but frames of {M} samples have {M} atoms: take at most as many,"
            " or a share of the energy such as 0.999"
        )


@dataclass(frozen=True, eq=False)
class Subspace:
    """The Karhunen–Loève transform of the frames or another, and how many atoms are learned in it.

    (`unmix` takes the start of the transform, its strongest atoms first.)
    """

    basis: Array  #: U (M, M), in double precision, where the frames are
    powers: Array  #: (M,): mean power of each of its atoms, on the host, falling
    n_atoms: int | None = None  #: P, less than M: the first atoms are learned; None: all
    W: Array | None = None  #: (M, K), or (M/2, K): the caller's rows for atoms not learned

    def share(self, P: int) -> float:
        """Return the share of the energy that the first P atoms hold."""
        energy = np.cumsum(self.powers)
        return float(energy[P - 1] / energy[-1])

    def holding(self, share: float) -> int:
        """Return how many atoms hold this share of the energy."""
        energy = np.cumsum(self.powers)
        return min(int(np.searchsorted(energy, share * energy[-1])) + 1, len(energy))

    def count(self, least: float) -> int:
        """Return the number of atoms whose mean power is at least `least`."""
        return int(np.count_nonzero(self.powers >= least))

    def with_few(self, n_atoms: int | float, size: int) -> Subspace:
        """Return the same in which this number of atoms is learned, or those of a share of energy.

        The number is rounded up to a multiple of `size`: whole pairs.
        """
        P = n_atoms if isinstance(n_atoms, int) else self.holding(n_atoms)
        P = -(-P // size) * size
        return replace(self, n_atoms=P if len(self.powers) > P else None)

    def strongest(self, Phi: Array, P: int, rows: int = 1) -> tuple[Array, Array]:
        """Return which P atoms of Φ are strongest in the subspace, and Q that follows from them.

        They are projected onto the subspace and made orthogonal in their order. Groups of `rows`
        atoms that follow each other stay together: whole pairs.
        """
        Phi = cast(Phi, np.float64)
        inside = Phi @ self.basis[:P].mT
        energies = to_numpy(inside) ** 2 @ self.powers[:P]
        energies = energies.reshape(-1, rows).sum(axis=1)
        groups = np.sort(np.argsort(-energies, kind="stable")[: P // rows])
        atoms = indices((rows * groups[:, None] + np.arange(rows)).ravel(), Phi)
        return atoms, orthonormal_rows(inside[atoms])

    def nearest(self, Phi: Array, size: int) -> Array:
        """Return the transform diag(Q, I) U with the strongest atoms of Φ, projected, as Q.

        Groups of `size` atoms that follow each other stay together.
        """
        _, Q = self.strongest(Phi, self.n_atoms or len(Phi), size)
        return cast(self.transform(Q), dtype_of(Phi))

    def in_double(self, Phi: Array) -> Array:
        """Return a transform diag(Q, I) U of lower precision, orthogonal in double precision."""
        first = self.basis[: self.n_atoms]
        return self.transform(cast(Phi[: self.n_atoms], np.float64) @ first.mT)

    def pooled(self, W: Array, share: float) -> Array:
        """Return W with one mean row for all atoms beyond those that hold a share of the energy."""
        size = len(self.powers) // len(W)  # 2 if a row belongs to a pair
        n = -(-max(self.n_atoms or 0, self.holding(share)) // size)
        xp = namespace(W)
        if n == len(W):
            return W
        mean = xp.mean(W[n:], axis=0, keepdims=True)
        return xp.concat([W[:n], xp.broadcast_to(mean, W[n:].shape)])

    def with_atoms(self, iterate: Iterate, P: int, keeps_scale: bool = False) -> Iterate:
        """Return an iterate with P atoms, which may be all.

        The columns of W sum to 1 again, unless `keeps_scale`: then W carries the scale.
        """
        n, M = len(iterate.Phi), len(self.basis)
        if n <= P:
            return iterate if n == P else self.grown(iterate, P, keeps_scale)
        whole = iterate if n == M else self.grown(iterate, M, keeps_scale)
        return self.reduced(whole, P, keeps_scale)

    def reduced(self, iterate: Iterate, P: int, keeps_scale: bool) -> Iterate:
        """Return the P strongest atoms of an iterate, as Q and rows of W.

        Unless W carries the scale, its columns sum to 1 again. WH is then the same up to a common
        factor, because these atoms hold most of the energy whatever part of W they have.
        """
        rows = len(iterate.Phi) // len(iterate.W)
        atoms, Q = self.strongest(iterate.Phi, P, rows)
        W = iterate.W[atoms[::rows] // rows]
        iterate = replace(iterate, Phi=cast(Q, dtype_of(iterate.Phi)), W=W)
        if keeps_scale or not iterate.W.shape[1]:
            return iterate
        W, s = normalise(iterate.W)
        return replace(iterate, W=W, activations=iterate.H * (s / namespace(s).mean(s))[:, None])

    def grown(self, iterate: Iterate, P: int, keeps_scale: bool) -> Iterate:
        """Add atoms of U to Q, up to P; WH does not change in the rows that are there.

        All M atoms are those of Φ = diag(Q, I) U, in double precision.
        """
        n, M = len(iterate.Phi), len(self.basis)
        if P == M:
            Phi = self.transform(iterate.Phi)
        else:
            Phi = identity(P, iterate.Phi)
            Phi[:n, :n] = iterate.Phi
        W, H = self.with_rows(iterate, P), iterate.H
        if not keeps_scale:
            W, s = normalise(W)
            H = H * s[:, None]
        return Iterate(Phi, W, H)

    def transform(self, Q: Array) -> Array:
        """Return Φ = diag(Q, I) U in double precision, whatever the precision of Q.

        Q is made orthogonal first, so that this need not be done with the whole of Φ.
        """
        U, n = self.basis, len(Q)
        return namespace(U).concat([exactly_orthogonal(Q, np.float64) @ U[:n], U[n:]])

    def with_rows(self, iterate: Iterate, P: int) -> Array:
        """Return W with the rows of P atoms.

        New ones are those of the caller, or such that WH is the mean power of the atom on average.
        """
        xp, (n, K) = namespace(iterate.W), iterate.W.shape
        P, rows = P * n // len(iterate.Phi), len(iterate.Phi) // n
        if self.W is not None:
            before = xp.sum(self.W[:n], axis=0)
            factor = divided(xp.sum(iterate.W, axis=0), before, xp.ones_like(before))
            return xp.concat([iterate.W, cast(self.W[n:P] * factor, dtype_of(iterate.W))])
        level = xp.sum(iterate.H) / max(iterate.H.shape[1], 1)
        means = self.powers[rows * n : rows * P].reshape(-1, rows).mean(axis=1)
        powers = like(means, iterate.W, dtype_of(iterate.W))[:, None]
        rows = powers / xp.where(level > TINY, level, xp.ones_like(level))
        return xp.concat([iterate.W, xp.broadcast_to(rows, (P - n, K))])
