"""Elementwise computations on a block of frames, compiled: one pass over memory for each.

Both divergences have one form, (v+ε)/v̂ + log v̂ - κ (log(v+ε) + 1): κ = 1 is Itakura–Saito,
κ = 0 the Gaussian likelihood, and no other κ is computed here. The readable formulas are in
`phinmf.divergences`, and these are tested against them. Arrays are (channels, frames, atoms).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numba.core.compiler_lock import global_compiler_lock

from phinmf._types import AnyArray
from phinmf.arrays.threads import no_fork

with no_fork:
    no_fork.locks.append(global_compiler_lock)

GROUP = 16  #: entries that are multiplied before a logarithm is taken
PIECE = 128  #: frames of an NMF update that are computed at a time, so that they stay in the cache


def compiled(function: Callable[..., Any], **how: Any) -> Any:
    """Compile a function, and cache the result on disk if there is a folder for it."""
    how |= {"nogil": True, "error_model": "numpy"}
    try:
        return njit(cache=True, **how)(function)
    except RuntimeError:  # a read-only installation and no home folder
        return njit(**how)(function)


def reassociated(function: Callable[..., Any]) -> Any:
    """Compile with sums in an order that the compiler chooses once, so that it can vectorise."""
    return compiled(function, fastmath={"reassoc", "contract"})


@compiled
def frame_power(X: AnyArray, i: int, v: Any) -> None:
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
def loss_and_slope(
    X: AnyArray, WH: Any, weights: Any, equal: bool, eps: Any, kappa: Any, F: Any
) -> float:
    """Weighted sum of f over a block; F receives the weighted f'(x).

    One logarithm of a product of GROUP ratios of equal weight replaces those of the ratios. If the
    product leaves the range of numbers, the logarithms are taken one by one.
    """
    C, n, M = X.shape
    one, two = X.dtype.type(1), X.dtype.type(2)
    v, s = np.empty(M, X.dtype), np.empty(M, X.dtype)
    rational, product = np.zeros(M), np.ones(M)
    loss = 0.0
    first = 0
    group = GROUP if equal else 1
    for i in range(n):
        frame_power(X, i, v)
        weight = weights[i]
        twice = two * X.dtype.type(weight)
        for m in range(M):
            a = v[m] + eps
            inverse = one / (WH[i, m] + eps)
            rational[m] += a * inverse
            product[m] *= (kappa * a + (one - kappa)) * inverse
            s[m] = twice * (inverse - kappa / a)
        for c in range(C):
            for m in range(M):
                F[c, i, m] = s[m] * X[c, i, m]
        if i - first == group - 1 or i == n - 1:
            for m in range(M):
                if 1e-290 < product[m] < 1e290:
                    logarithms = np.log(product[m])
                else:
                    logarithms = 0.0
                    for j in range(first, i + 1):
                        total = 0.0
                        for c in range(C):
                            total += X[c, j, m] * X[c, j, m]
                        a64 = total / C + eps
                        logarithms += np.log((kappa * a64 + (1 - kappa)) / (WH[j, m] + eps))
                loss += weight * (rational[m] - kappa * (i + 1 - first) - logarithms)
                rational[m], product[m] = 0.0, 1.0
            first = i + 1
    return loss


@compiled
def curvatures(
    X: AnyArray, WH: Any, weights: Any, eps: Any, kappa: Any, exact: bool, B: Any, V: Any
) -> None:
    """B receives the weighted bound b(x), or the exact f''(x); V the power."""
    _, n, M = X.shape
    one, two = X.dtype.type(1), X.dtype.type(2)
    for i in range(n):
        frame_power(X, i, V[i])
        twice = two * X.dtype.type(weights[i])
        for m in range(M):
            inverse, of_a = one / (WH[i, m] + eps), one / (V[i, m] + eps)
            if exact:
                B[i, m] = twice * (inverse + kappa * (V[i, m] - eps) * of_a * of_a)
            else:
                B[i, m] = twice * (inverse + kappa * of_a)


@compiled
def split(X: AnyArray, first: int, WH: Any, eps: Any, P: Any, Q: Any) -> None:
    """P = (v+ε)/v̂² and Q = 1/v̂ for as many frames as WH has, from `first` on."""
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
    X: AnyArray, weights: Any, H: Any, W: Any, Wt: Any, mu: Any, eps: Any, gamma: Any, least: Any,
    PH: Any, QH: Any, H1: Any,
) -> None:  # fmt: skip
    """Update the activations H (frames, K) of a block, then add to (PHᵀ)ᵀ, (QHᵀ)ᵀ and H1.

    This is done in pieces that stay in the cache, which also makes the products with the few
    columns of W fastest.
    """
    n, K = H.shape
    M = len(W)
    zero, one = X.dtype.type(0), X.dtype.type(1)
    WH, P = np.empty((PIECE, M), X.dtype), np.empty((PIECE, M), X.dtype)
    Q = np.empty((PIECE, M), X.dtype)
    numerator, denominator = np.empty((PIECE, K), X.dtype), np.empty((PIECE, K), X.dtype)
    weighted, part = np.empty((PIECE, K), X.dtype), np.empty((K, M), X.dtype)
    for first in range(0, n, PIECE):
        p = min(PIECE, n - first)
        h = H[first : first + p]
        if gamma > zero:
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
        for i in range(p):
            weight = X.dtype.type(weights[first + i])
            for k in range(K):
                weighted[i, k] = weight * h[i, k]
                H1[k] += weighted[i, k]
        np.dot(h, Wt, WH[:p])
        split(X, first, WH[:p], eps, P, Q)
        np.dot(weighted[:p].T, P[:p], part)
        PH += part
        np.dot(weighted[:p].T, Q[:p], part)
        QH += part


@reassociated
def frame_model(h: Any, Wt: Any, eps: float, v_hat: Any) -> None:
    """v̂ = Wh + ε of one frame; two components at a time need half as much memory traffic."""
    v_hat[:] = eps
    for k in range(0, len(h), 2):
        h0, h1 = h[k], h[k + 1]
        for m in range(len(v_hat)):
            v_hat[m] += h0 * Wt[k, m] + h1 * Wt[k + 1, m]


@reassociated
def frame_cost(a: Any, v_hat: Any, h: Any, mu: float) -> float:
    """The terms of the cost of one frame that depend on h: Σ a/v̂ + log v̂, and the penalty."""
    cost = 0.0
    for m in range(len(a)):
        cost += a[m] / v_hat[m] + np.log(v_hat[m])
    for k in range(len(h)):
        cost += mu * h[k]
    return cost


@reassociated
def converge_block(
    X: AnyArray,
    H: Any,
    Wt: Any,
    mu: float,
    eps: float,
    least: float,
    tol: float,
    every: int,
    max_updates: int,
) -> None:
    """Update the activations of each frame until they converge, one frame at a time.

    This is done in double precision and without products of matrices, whose rounding would depend
    on the number of frames. Wt has an even number of rows; the last one may be 0.
    """
    _, n, M = X.shape
    K = H.shape[1]
    v, h = np.empty(M, X.dtype), np.zeros(len(Wt))
    a, v_hat, P, Q = np.empty(M), np.empty(M), np.empty(M), np.empty(M)
    for i in range(n):
        frame_power(X, i, v)
        for m in range(M):
            a[m] = v[m] + eps
        for k in range(K):
            h[k] = H[i, k]
        frame_model(h, Wt, eps, v_hat)
        before = np.inf
        for step in range(max_updates):
            if step % every == 0:
                cost = frame_cost(a, v_hat, h, mu)
                if not before - cost > tol * M:
                    break
                before = cost
            for m in range(M):
                Q[m] = 1 / v_hat[m]
                P[m] = a[m] * Q[m] * Q[m]
            for k in range(0, len(h), 2):
                p0, p1, q0, q1 = 0.0, 0.0, mu, mu
                for m in range(M):
                    p0 += Wt[k, m] * P[m]
                    q0 += Wt[k, m] * Q[m]
                    p1 += Wt[k + 1, m] * P[m]
                    q1 += Wt[k + 1, m] * Q[m]
                ratio0, ratio1 = p0 / q0 if q0 > 0 else 1.0, p1 / q1 if q1 > 0 else 1.0
                h[k] = max(h[k] * ratio0, min(h[k], least))
                h[k + 1] = max(h[k + 1] * ratio1, min(h[k + 1], least))
            frame_model(h, Wt, eps, v_hat)
        for k in range(K):
            H[i, k] = h[k]
