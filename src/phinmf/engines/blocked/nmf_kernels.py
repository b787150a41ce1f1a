"""The updates of activations on a block of frames, compiled, and the sums for that of W.

The readable formulas are in `engines/sums.py` and `penalties/smooth.py`. Arrays are (channels,
frames, atoms).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phinmf._types import AnyArray
from phinmf.engines.blocked.kernels import compiled, frame_power, reassociated

PIECE = 128  #: frames that are computed at a time, so that they stay in the cache


@compiled
def split(X: AnyArray, first: int, step: int, WH: Any, eps: Any, P: Any, Q: Any) -> None:
    """P = (v+ε)/v̂² and Q = 1/v̂ for as many frames as WH has: every `step`th from `first` on."""
    _, _, M = X.shape
    one = X.dtype.type(1)
    v = np.empty(M, X.dtype)
    for i in range(len(WH)):
        frame_power(X, first + step * i, v)
        for m in range(M):
            q = one / (WH[i, m] + eps)
            Q[i, m] = q
            P[i, m] = (v[m] + eps) * q * q


@compiled
def nmf_block(
    X: AnyArray, weights: Any, H: Any, W: Any, Wt: Any, rates: Any, eps: Any, gamma: Any,
    least: Any, PH: Any, QH: Any, H1: Any,
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
            split(X, first, 1, WH[:p], eps, P, Q)
            np.dot(P[:p], W, numerator[:p])
            np.dot(Q[:p], W, denominator[:p])
            for i in range(p):
                for k in range(K):
                    d = denominator[i, k] + rates[k]
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
        split(X, first, 1, WH[:p], eps, P, Q)
        np.dot(weighted[:p].T, P[:p], part)
        PH += part
        np.dot(weighted[:p].T, Q[:p], part)
        QH += part


@compiled
def smooth_block(
    X: AnyArray, weights: Any, links: Any, H: Any, start: int, stop: int, W: Any, Wt: Any,
    rates: Any, before: Any, after: Any, smoothness: Any, eps: Any, gamma: Any, least: Any,
) -> None:  # fmt: skip
    """Update the activations H of every other frame from start to stop, pulled by neighbours.

    `before` and `after` are the activations of the frames around all of H. (`penalties/smooth.py`
    has the formulas; a neighbour that is missing is replaced by the frame itself.)
    """
    K, M = H.shape[1], len(W)
    zero, one = X.dtype.type(0), X.dtype.type(1)
    WH, P = np.empty((PIECE, M), X.dtype), np.empty((PIECE, M), X.dtype)
    Q, h = np.empty((PIECE, M), X.dtype), np.empty((PIECE, K), X.dtype)
    numerator, denominator = np.empty((PIECE, K), X.dtype), np.empty((PIECE, K), X.dtype)
    for first in range(start, stop, 2 * PIECE):
        p = (min(first + 2 * PIECE, stop) - first + 1) // 2
        for i in range(p):
            h[i] = H[first + 2 * i]
        np.dot(h[:p], Wt, WH[:p])
        split(X, first, 2, WH[:p], eps, P, Q)
        np.dot(P[:p], W, numerator[:p])
        np.dot(Q[:p], W, denominator[:p])
        for i in range(p):
            n = first + 2 * i
            weight = X.dtype.type(weights[n])
            strength = smoothness / weight if weight > zero else zero
            for k in range(K):
                old = h[i, k]
                rise = before[k] if n == 0 else H[n - 1, k]
                fall = after[k] if n == len(H) - 1 else H[n + 1, k]
                rise = rise / old if links[n] and rise > zero and old > zero else one
                fall = old / fall if links[n + 1] and fall > zero and old > zero else one
                a = old * numerator[i, k] + strength * rise
                b = old * (denominator[i, k] + rates[k]) + strength * fall
                ratio = a / b if b > zero else one
                if gamma != one:
                    ratio = ratio**gamma
                H[n, k] = max(old * ratio, min(old, least))


@compiled
def roughness(H: Any, links: Any, start: int, stop: int, before: Any) -> float:
    """Σ d(h_{k,n-1} | h_kn) over the linked frames from start to stop."""
    total = 0.0
    for n in range(start, stop):
        if links[n]:
            for k in range(H.shape[1]):
                last = float(before[k] if n == 0 else H[n - 1, k])
                if last > 0 and H[n, k] > 0:
                    ratio = last / float(H[n, k])
                    total += ratio - np.log(ratio) - 1
    return total


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
