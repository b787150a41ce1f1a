"""Products, inverses and exponentials of M×M matrices, on the threads of an engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg.lapack import get_lapack_funcs

from phinmf._types import Array
from phinmf.arrays import is_tensor, namespace
from phinmf.arrays.threads import Workers

PIECE = 192  #: number of rows of a product that one worker computes at a time
LEAF = 128  #: largest size of an inverse that LAPACK computes directly


@dataclass(frozen=True)
class Algebra:
    """Dense algebra in pieces that depend on the sizes alone: threads do not change the bits."""

    workers: Workers

    def product(self, A: Array, B: Array) -> Array:
        """Return AB; each worker computes a part of the rows."""
        C = np.empty((len(A), B.shape[1]), A.dtype)
        self._products([(A, B, C)])
        return C

    def inverse(self, A: Array) -> Array:
        """Return A⁻¹ of a matrix A = I - S with S antisymmetric.

        The matrix is split into 2×2 blocks, and the inverse follows from those of the first block
        and of its Schur complement: nearly all of the work is products of matrices. It is stable
        without pivoting, because the symmetric part of every matrix that is inverted on the way
        is at least the identity.
        """
        n = len(A)
        if n <= LEAF:
            return _lapack_inverse(A)
        p = n // 2
        B = np.empty_like(A)
        A12, A21 = A[:p, p:], A[p:, :p]
        P = self.inverse(A[:p, :p])
        PA12, A21P, S = np.empty_like(A12), np.empty_like(A21), np.empty_like(A[p:, p:])
        self._products([(P, A12, PA12), (A21, P, A21P)])
        self._products([(A21, PA12, S)])
        Q = self.inverse(A[p:, p:] - S)
        B[p:, p:] = Q
        self._products([(PA12, -Q, B[:p, p:]), (-Q, A21P, B[p:, :p])])
        self._products([(PA12, B[p:, :p], B[:p, :p])])
        B[:p, :p] *= -1
        B[:p, :p] += P
        return B

    def exponential(self, A: Array) -> Array:
        """Return exp(A)."""
        return np.asarray(scipy.linalg.expm(A), dtype=A.dtype)

    def _products(self, triples: Sequence[tuple[Array, Array, Array]]) -> None:
        """Compute C ← AB of each triple (A, B, C); a piece of work is a few rows of one A."""
        pieces = []
        for A, B, C in triples:
            number = max(1, 2 * len(A) // (len(triples) * PIECE))
            for rows in np.array_split(np.arange(len(A)), number):
                piece = slice(rows[0], rows[-1] + 1)
                pieces.append((A[piece], B, C[piece]))
        list(self.workers.map(lambda piece: np.matmul(piece[0], piece[1], out=piece[2]), pieces))


class TensorAlgebra(Algebra):
    """Dense algebra of PyTorch, on the device of its tensors."""

    def product(self, A: Array, B: Array) -> Array:
        """Return AB."""
        return A @ B

    def inverse(self, A: Array) -> Array:
        """Return A⁻¹."""
        return namespace(A).linalg.inv(A)

    def exponential(self, A: Array) -> Array:
        """Return exp(A)."""
        return namespace(A).linalg.matrix_exp(A)


PLAIN, OF_TENSORS = Algebra(Workers(1)), TensorAlgebra(Workers(1))


def algebra_of(x: Array) -> Algebra:
    """Return the algebra for an array or a tensor, without worker threads."""
    return OF_TENSORS if is_tensor(x) else PLAIN


def _lapack_inverse(A: Array) -> Array:
    """Return A⁻¹ by LU factors; LAPACK reads a row-major matrix as its transpose."""
    functions: Any = get_lapack_funcs(("getrf", "getri"), (A,))
    getrf, getri = functions
    lu, pivots, _ = getrf(A.T)
    inverse, _ = getri(lu, pivots, lwork=64 * len(A), overwrite_lu=True)
    return np.asarray(inverse.T)
