"""The orthogonal matrices: projections, curves, rotations and starting points."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, DTypeLike

from phinmf._types import Array, Indices
from phinmf.algebra import Algebra

PLAIN = Algebra()


def skew(C: Array) -> Array:
    """Π_A(C) = (C - Cᵀ)/2, equation (10)."""
    return (C - C.T) / 2


def inner(A: Array, B: Array) -> float:
    """⟨A|B⟩ = Σ a_ij b_ij, summed in double precision."""
    return float(np.einsum("ij,ij->", A, B, dtype=np.float64))


class Exponential:
    """The geodesic R(η) = exp(ηE), equation (4)."""

    @staticmethod
    def point(E: Array, eta: float, algebra: Algebra = PLAIN) -> Array:
        """R(η)."""
        return np.asarray(scipy.linalg.expm(eta * E), dtype=E.dtype)

    @staticmethod
    def slope(G: Array, E: Array, eta: float, R: Array) -> float:
        """d/dη L(R(η)Φ) = ⟨G(X_η)|E⟩, because E commutes with exp(ηE)."""
        return inner(G, E)


class Cayley:
    """R(η) = (I - ηE/2)⁻¹ (I + ηE/2): agrees with exp(ηE) to second order, error (ηE)³/12."""

    @staticmethod
    def point(E: Array, eta: float, algebra: Algebra = PLAIN) -> Array:
        """R(η) = 2 (I - ηE/2)⁻¹ - I: one inverse, a tenth of the cost of exp."""
        A = (-eta / 2) * E
        np.einsum("ii->i", A)[:] += 1
        R = algebra.inverse(A)
        R *= 2
        np.einsum("ii->i", R)[:] -= 1
        return R

    @staticmethod
    def slope(G: Array, E: Array, eta: float, R: Array) -> float:
        """d/dη L(R(η)Φ) = ⟨G(X_η)|E (I - η²E²/4)⁻¹⟩ = ⟨G(X_η)|skew(R)⟩/η: nothing to solve."""
        return inner(G, skew(R)) / eta if eta else inner(G, E)


Retraction = type[Exponential] | type[Cayley]
RETRACTIONS: dict[str, Retraction] = {"exp": Exponential, "cayley": Cayley}


def polar(C: Array) -> Array:
    """Π(C) = (CCᵀ)^(-1/2) C, the nearest orthogonal matrix, by its singular vectors."""
    U, _, Vt = np.linalg.svd(C)
    return np.asarray(U @ Vt)


def polish(Phi: Array, algebra: Algebra = PLAIN) -> Array:
    """One Newton–Schulz step ½ (3I - ΦΦᵀ) Φ: squares a small distance from orthogonality."""
    return 1.5 * Phi - 0.5 * algebra.product(algebra.product(Phi, Phi.T), Phi)


def exactly_orthogonal(Phi: Array, dtype: DTypeLike, algebra: Algebra = PLAIN) -> Array:
    """Polish in double precision, then go to the wanted one."""
    return polish(polish(Phi.astype(np.float64), algebra), algebra).astype(dtype)


def orthogonality_error(Phi: Array) -> float:
    """Largest entry of |ΦΦᵀ - I|."""
    return float(np.abs(Phi @ Phi.T - np.eye(len(Phi))).max())


def givens(M: int, p: int | Indices, q: int | Indices, theta: ArrayLike) -> Array:
    """R_pq(θ) of (6): row p ← cos θ row p + sin θ row q, row q ← cos θ row q - sin θ row p.

    Arrays of disjoint pairs give their product.
    """
    R = np.eye(M)
    c, s = np.cos(theta), np.sin(theta)
    R[p, p] = R[q, q] = c
    R[p, q], R[q, p] = s, -s
    return R


def random_orthogonal(M: int, rng: np.random.Generator, dtype: DTypeLike = np.float64) -> Array:
    """A draw from the uniform (Haar) distribution."""
    Q, R = np.linalg.qr(rng.standard_normal((M, M)))
    return np.asarray(Q * np.where(np.diagonal(R) < 0, -1, 1), dtype=dtype)


def dct(M: int, dtype: DTypeLike = np.float64) -> Array:
    """The orthogonal DCT-II: rows are cosines of rising frequency."""
    m, n = np.ogrid[:M, :M]
    Phi = np.sqrt(2 / M) * np.cos(np.pi * m * (2 * n + 1) / (2 * M))
    Phi[0] /= np.sqrt(2)
    return np.asarray(Phi, dtype=dtype)
