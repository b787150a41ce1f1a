"""Elementwise work on a block of frames, compiled: one pass over memory for each question.

Both divergences belong to one family, (v+ε)/v̂ + log v̂ - κ (log(v+ε) + 1): κ = 1 is
Itakura–Saito, κ = 0 the Gaussian likelihood. The readable formulas stand in
`phinmf.divergences`, and these are tested against them. Arrays are (channels, frames, atoms).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

GROUP = 16  #: entries whose product is taken before its logarithm
PIECE = 128  #: frames of an NMF update that are done together


def compiled(function: Callable[..., Any]) -> Any:
    """Compile, and keep the result on disk where there is a folder for it."""
    try:
        return njit(nogil=True, error_model="numpy", cache=True)(function)
    except RuntimeError:  # read-only installation, no home
        return njit(nogil=True, error_model="numpy")(function)


@compiled
def frame_power(X: Any, i: int, v: Any) -> None:
    """v_m = mean over channels of x²_cm in frame i."""
    C, _, M = X.shape
    for m in range(M):
        v[m] = X[0, i, m] * X[0, i, m]
    if C > 1:
        for c in range(1, C):
            for m in range(M):
                v[m] += X[c, i, m] * X[c, i, m]
        share = X.dtype.type(1.0 / C)
        for m in range(M):
            v[m] *= share


@compiled
def loss_and_slope(X: Any, WH: Any, eps: Any, kappa: Any, F: Any) -> float:
    """Sum of f over a block; F receives f'(x).

    Logarithms of products of GROUP ratios stand in for those of the ratios; a product that
    leaves the range is taken apart again.
    """
    C, n, M = X.shape
    one, two = X.dtype.type(1), X.dtype.type(2)
    v, s = np.empty(M, X.dtype), np.empty(M, X.dtype)
    rational, product = np.zeros(M), np.ones(M)
    loss = 0.0
    first = 0
    for i in range(n):
        frame_power(X, i, v)
        for m in range(M):
            a = v[m] + eps
            inverse = one / (WH[i, m] + eps)
            rational[m] += a * inverse
            product[m] *= (kappa * a + (one - kappa)) * inverse
            s[m] = two * (inverse - kappa / a)
        for c in range(C):
            for m in range(M):
                F[c, i, m] = s[m] * X[c, i, m]
        if i - first == GROUP - 1 or i == n - 1:
            for m in range(M):
                if 1e-290 < product[m] < 1e290:
                    loss -= np.log(product[m])
                else:
                    for j in range(first, i + 1):
                        total = 0.0
                        for c in range(C):
                            total += X[c, j, m] * X[c, j, m]
                        a64 = total / C + eps
                        loss -= np.log((kappa * a64 + (1 - kappa)) / (WH[j, m] + eps))
                product[m] = 1.0
            first = i + 1
    for m in range(M):
        loss += rational[m]
    return loss - kappa * n * M


@compiled
def curvatures(X: Any, WH: Any, eps: Any, kappa: Any, exact: bool, B: Any, V: Any) -> None:
    """B receives the bound b(x), or the exact f''(x); V the power."""
    _, n, M = X.shape
    one, two = X.dtype.type(1), X.dtype.type(2)
    for i in range(n):
        frame_power(X, i, V[i])
        for m in range(M):
            inverse, of_a = one / (WH[i, m] + eps), one / (V[i, m] + eps)
            if exact:
                B[i, m] = two * (inverse + kappa * (V[i, m] - eps) * of_a * of_a)
            else:
                B[i, m] = two * (inverse + kappa * of_a)


@compiled
def split(X: Any, first: int, WH: Any, eps: Any, P: Any, Q: Any) -> None:
    """P = (v+ε)/v̂² and Q = 1/v̂ for the frames from `first` on, as many as WH has."""
    _, _, M = X.shape
    one = X.dtype.type(1)
    v = np.empty(M, X.dtype)
    for i in range(len(WH)):
        frame_power(X, first + i, v)
        for m in range(M):
            q = one / (WH[i, m] + eps)
            Q[i, m] = q
            P[i, m] = (v[m] + eps) * q * q


@compiled
def nmf_block(
    X: Any, H: Any, W: Any, Wt: Any, mu: Any, eps: Any, gamma: Any, least: Any, PH: Any, QH: Any
) -> None:
    """Update the activations H (frames, K) of a block and add up (PHᵀ)ᵀ and (QHᵀ)ᵀ at the new ones.

    In pieces that stay in the cache; products with the few columns of W are fastest so, too.
    """
    n, K = H.shape
    M = len(W)
    zero, one = X.dtype.type(0), X.dtype.type(1)
    WH, P = np.empty((PIECE, M), X.dtype), np.empty((PIECE, M), X.dtype)
    Q = np.empty((PIECE, M), X.dtype)
    numerator, denominator = np.empty((PIECE, K), X.dtype), np.empty((PIECE, K), X.dtype)
    part = np.empty((K, M), X.dtype)
    for first in range(0, n, PIECE):
        p = min(PIECE, n - first)
        h = H[first : first + p]
        np.dot(h, Wt, WH[:p])
        split(X, first, WH[:p], eps, P, Q)
        np.dot(P[:p], W, numerator[:p])
        np.dot(Q[:p], W, denominator[:p])
        for i in range(p):
            for k in range(K):
                d = denominator[i, k] + mu
                ratio = numerator[i, k] / d if d > zero else one
                if gamma != one:
                    ratio = ratio**gamma
                h[i, k] = max(h[i, k] * ratio, min(h[i, k], least))
        np.dot(h, Wt, WH[:p])
        split(X, first, WH[:p], eps, P, Q)
        np.dot(h.T, P[:p], part)
        PH += part
        np.dot(h.T, Q[:p], part)
        QH += part
