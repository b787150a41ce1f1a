"""Eigenvectors of a covariance A (M, M), the strongest first: all, the leading ones, of few frames.

The leading ones are computed in the range of Aᵗ times a random block (block power iteration with
the Rayleigh–Ritz method), and completed by any orthonormal basis of the rest. This takes M² times
the number of eigenvectors, where all of them would take M³ with a large constant.

Each function returns the eigenvectors as rows of an orthogonal matrix (M, M), where A is, and their
eigenvalues (M,) on the host, none below 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from phinmf._types import Array
from phinmf.arrays import like, namespace, to_numpy

#: From the largest eigenvalues and the trace: how many are needed; None: more than these.
Enough = Callable[[Array, float], int | None]
POWER = 3  #: products with the covariance; each sharpens the block
LARGE = 2048  #: rows from which this is faster than all eigenvectors
FIRST = 256  #: columns of the first block
SPARE = 8  #: an eighth of a block is not used: its vectors have not converged


def leading(A: Array, enough: Enough) -> tuple[Array, Array]:
    """Return as many eigenvectors as are needed, and any rows that complete them.

    The eigenvalue of each of the other rows is the mean of the rest of the trace.
    """
    M, trace = len(A), float(namespace(A).linalg.trace(A))
    n = FIRST
    while LARGE <= M and n <= M // 4:
        values, rows = block_power(A, n)
        P = enough(values[: n - n // SPARE], trace)
        if P is not None:
            rest = max(0.0, trace - float(values[:P].sum())) / (M - P)
            return completed(rows[:P]), np.concatenate([values[:P], np.full(M - P, rest)])
        n *= 2
    return all_eigenvectors(A)


def block_power(A: Array, n: int) -> tuple[Array, Array]:
    """Return n Ritz values, falling, and their vectors as rows (n, M)."""
    xp = namespace(A)
    block = like(np.random.default_rng(0).standard_normal((len(A), n)), A)
    for _ in range(POWER):
        block, _ = xp.linalg.qr(A @ block)
    values, vectors = xp.linalg.eigh(block.mT @ (A @ block))
    return positive(values), xp.flip((block @ vectors).mT, axis=0)


def all_eigenvectors(A: Array) -> tuple[Array, Array]:
    """Return all eigenvectors of A."""
    xp = namespace(A)
    values, vectors = xp.linalg.eigh(A)
    return xp.flip(vectors.mT, axis=0), positive(values)


def positive(values: Array) -> Array:
    """Return rising eigenvalues as falling ones on the host, none below 0."""
    return np.maximum(to_numpy(values)[::-1], 0)


def completed(rows: Array) -> Array:
    """Return an orthogonal matrix that begins with these orthonormal rows (P, M)."""
    xp, P = namespace(rows), len(rows)
    Q, _ = xp.linalg.qr(rows.mT, mode="complete")
    return xp.concat([rows, Q[:, P:].mT])


def of_product(B: Array) -> tuple[Array, Array]:
    """Return all eigenvectors of A = BBᵀ for B (M, n) with fewer columns than rows.

    They are those of a matrix (n, n), and A is not computed: its rounding would hide the weak ones.
    """
    xp = namespace(B)
    Q, R = xp.linalg.qr(B, mode="complete")
    n = B.shape[1]
    V, values = all_eigenvectors(R[:n] @ R[:n].mT)
    rows = xp.concat([V @ Q[:, :n].mT, Q[:, n:].mT])
    return rows, np.concatenate([values, np.zeros(len(B) - n)])
