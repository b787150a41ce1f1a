"""Orthogonal matrices: projections, curves, rotations, the DCT and random ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from phinmf._types import AnyArray, Array, Indices, Precision
from phinmf.arrays import (
    cast,
    diagonal,
    dtype_of,
    identity,
    indices,
    is_tensor,
    like,
    namespace,
)
from phinmf.linalg.algebra import Algebra, algebra_of

#: ‖ΦᵀΦ - I‖ / √M that rounding may cause: of the entries of Φ, and of the products that test it
ROUNDED_ENTRIES, ROUNDED_PRODUCTS = 0.5, 8 * np.finfo(np.float64).eps


def skew(C: Array) -> Array:
    """Π_A(C) = (C - Cᵀ)/2, equation (10)."""
    return (C - C.mT) / 2


def inner(A: Array, B: Array) -> float:
    """⟨A|B⟩ = Σ a_ij b_ij, summed in double precision."""
    if isinstance(A, np.ndarray):
        return float(np.einsum("ij,ij->", A, B, dtype=np.float64))
    return float(namespace(A).sum(cast(A, np.float64) * B))


class Exponential:
    """The geodesic R(η) = exp(ηE), equation (4)."""

    @staticmethod
    def point(E: Array, eta: float, algebra: Algebra | None = None) -> Array:
        """R(η)."""
        return (algebra or algebra_of(E)).exponential(eta * E)

    @staticmethod
    def slope(G: Array, E: Array, eta: float, R: Array) -> float:
        """d/dη L(R(η)Φ) = ⟨G(X_η)|E⟩, because E commutes with exp(ηE)."""
        return inner(G, E)


class Cayley:
    """R(η) = (I - ηE/2)⁻¹ (I + ηE/2): agrees with exp(ηE) to second order, error (ηE)³/12."""

    @staticmethod
    def point(E: Array, eta: float, algebra: Algebra | None = None) -> Array:
        """R(η) = 2 (I - ηE/2)⁻¹ - I: one inverse, a tenth of the cost of exp."""
        A = (-eta / 2) * E
        diagonal(A)[...] += 1
        R = (algebra or algebra_of(A)).inverse(A)
        R *= 2
        diagonal(R)[...] -= 1
        return R

    @staticmethod
    def slope(G: Array, E: Array, eta: float, R: Array) -> float:
        """d/dη L(R(η)Φ) = ⟨G(X_η)|E (I - η²E²/4)⁻¹⟩ = ⟨G(X_η)|skew(R)⟩/η: no system to solve."""
        return inner(G, skew(R)) / eta if eta else inner(G, E)


Retraction = type[Exponential] | type[Cayley]
#: Curves of orthogonal matrices by their names.
RETRACTIONS: dict[str, Retraction] = {"exp": Exponential, "cayley": Cayley}


def polar(C: Array) -> Array:
    """Π(C) = (CCᵀ)^(-1/2) C of (5), the nearest orthogonal matrix, by its singular vectors."""
    U, _, Vt = namespace(C).linalg.svd(C)
    return U @ Vt


def orthonormal_rows(C: Array) -> Array:
    """Make the rows of a square matrix orthonormal in their order, each with a positive share."""
    xp = namespace(C)
    Q, R = xp.linalg.qr(C.mT)
    return (Q * xp.where(xp.linalg.diagonal(R) < 0, -1, 1)).mT


def polish(Phi: Array, algebra: Algebra | None = None) -> Array:
    """One Newton–Schulz step ½ (3I - ΦΦᵀ) Φ: squares a small error of orthogonality."""
    product = (algebra or algebra_of(Phi)).product
    return 1.5 * Phi - 0.5 * product(product(Phi, Phi.mT), Phi)


def exactly_orthogonal(Phi: Array, dtype: DTypeLike, algebra: Algebra | None = None) -> Array:
    """Return Φ in `dtype`, made orthogonal in double precision unless it already is."""
    if isinstance(Phi, np.ndarray) and nearly_orthogonal(Phi, np.dtype(dtype)):
        return Phi.astype(dtype, copy=False)
    return cast(polish(polish(cast(Phi, np.float64), algebra), algebra), dtype)


def nearly_orthogonal(Phi: Array, dtype: Precision) -> bool:
    """Whether Φ is orthogonal up to the rounding of a precision, estimated from four vectors.

    For normal v the mean of ‖(ΦᵀΦ - I)v‖² is ‖ΦᵀΦ - I‖². This takes M² operations, far fewer than
    the M³ of `polish`.
    """
    V = np.random.default_rng(0).standard_normal((len(Phi), 4))
    Phi = Phi.astype(np.float64, copy=False)
    error = np.sqrt(np.square(Phi.T @ (Phi @ V) - V).mean(axis=1).sum())
    largest = ROUNDED_ENTRIES * np.finfo(dtype).eps + ROUNDED_PRODUCTS
    return bool(error <= largest * np.sqrt(len(Phi)))


def orthogonality_error(Phi: Array) -> float:
    """Largest entry of |ΦΦᵀ - I|."""
    xp, error = namespace(Phi), Phi @ Phi.mT
    return float(xp.max(xp.abs(error - identity(len(Phi), Phi, np.float64))))


def givens(
    M: int, p: int | Indices, q: int | Indices, theta: ArrayLike, where: Array | None = None
) -> Array:
    """R_pq(θ) of (6): row p ← cos θ row p + sin θ row q, row q ← cos θ row q - sin θ row p.

    For arrays of disjoint pairs, return the product of their rotations (M, M). The result has the
    kind, device and precision of `where`, by default those of an array in double precision.
    """
    R = np.eye(M) if where is None else identity(M, where)
    c, s = (like(f(theta), R, dtype_of(R)) for f in (np.cos, np.sin))
    p, q = (indices(np.asarray(i), R) for i in (p, q))
    R[p, p] = R[q, q] = c
    R[p, q], R[q, p] = s, -s
    return R


def random_orthogonal(
    M: int, rng: np.random.Generator, dtype: DTypeLike = np.float64, where: AnyArray = None
) -> Array:
    """Draw from the uniform (Haar) distribution of orthogonal matrices.

    Parameters
    ----------
    M : int
        Number of rows and columns.
    rng : numpy.random.Generator
        Where the random numbers come from; they are drawn on the host.
    dtype : dtype
        Type of the entries, float32 or float64.
    where : array or tensor, optional
        If it is a tensor, all but the drawing is done on its device.

    Returns
    -------
    array of shape (M, M)
        An array, or a tensor on the device of `where`.
    """
    drawn: Array = rng.standard_normal((M, M))
    if where is not None and is_tensor(where):
        drawn = like(drawn, where)
    return cast(orthonormal_rows(drawn.mT).mT, dtype)


def dct(M: int, dtype: DTypeLike = np.float64) -> Array:
    """Return the orthogonal DCT-II: rows are cosines of increasing frequency.

    Parameters
    ----------
    M : int
        Number of rows and columns.
    dtype : dtype
        Type of the entries, float32 or float64.

    Returns
    -------
    array of shape (M, M)
        The transform.
    """
    table = np.sqrt(2 / M) * np.cos(np.pi / (2 * M) * np.arange(4 * M))  # one period
    entries, odd = table.astype(dtype), 2 * np.arange(M) + 1
    Phi = np.empty((M, M), dtype)
    for m in range(1, M):
        Phi[m] = entries[m * odd % (4 * M)]
    Phi[0] = table[0] / np.sqrt(2)
    return Phi


def is_dft(Phi: Array) -> bool:
    """Whether Φ (M, M) is the real DFT of an even M, up to rounding.

    It is tried on one random vector, which needs no second matrix.
    """
    M = len(Phi)
    if M % 2:
        return False
    y = np.random.default_rng(0).standard_normal(M)
    spectrum = np.fft.rfft(y, norm="ortho")
    bins = spectrum[1:-1] * 2**0.5
    x = np.concatenate([spectrum[[0, -1]].real, np.stack([bins.real, -bins.imag], 1).ravel()])
    return bool(np.abs(Phi @ y - x).max() < 1e-5 * np.linalg.norm(y))


def dft(M: int, dtype: DTypeLike = np.float64) -> Array:
    """Return the real DFT: pairs of rows are the cosine and the sine of a bin, from low to high.

    The constant comes first, and after it, if M is even, the alternating row: these have no sine.
    So the mean square of the coefficients 2k and 2k + 1 is bin k of the power spectrum that
    everybody uses; the first two, bins 0 and M/2, count as one.

    Parameters
    ----------
    M : int
        Number of rows and columns.
    dtype : dtype
        Type of the entries, float32 or float64.

    Returns
    -------
    array of shape (M, M)
        The transform, which is orthogonal.
    """
    n, alone = np.arange(M), 2 - M % 2  # rows without a sine
    cosine, sine = (np.sqrt(2 / M) * f(2 * np.pi / M * n) for f in (np.cos, np.sin))
    Phi = np.empty((M, M), dtype)
    Phi[:alone] = M**-0.5
    Phi[1:alone, 1::2] *= -1
    for k in range(1, (M + 1) // 2):
        first = alone + 2 * (k - 1)
        Phi[first], Phi[first + 1] = cosine[k * n % M], sine[k * n % M]
    return Phi
