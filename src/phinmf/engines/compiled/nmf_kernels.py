"""The updates of activations on a block of frames, compiled, and the sums for that of W.

The readable formulas are in `engines/sums.py`. Arrays are (channels, frames, atoms).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from phinmf._types import Array, Mask
from phinmf.divergences.penalty import MOST_GROWTH
from phinmf.engines.compiled.compiling import Kernel, Scalar, compiled, inlined, reassociated
from phinmf.engines.compiled.entries import (
    EUCLIDEAN,
    KULLBACK_LEIBLER,
    cost,
    numerator_and_denominator,
)
from phinmf.engines.compiled.kernels import frame_power

PIECE = 128  #: frames that are computed at a time, so that they stay in the cache


@inlined
def split(
    family: int, X: Array, first: int, step: int, WH: Array, eps: Scalar, v: Array, P: Array,
    Q: Array,
) -> None:  # fmt: skip
    """P and Q for as many frames as WH has: every `step`th from `first` on.

    Q of Kullback–Leibler is 1 and is not written.
    """
    one = X.dtype.type(1)
    for i in range(len(WH)):
        frame_power(X, first + step * i, v)
        if family == KULLBACK_LEIBLER:
            for m in range(len(v)):
                P[i, m] = (v[m] + eps) / (WH[i, m] + eps)
        else:
            for m in range(len(v)):
                a, b = v[m] + eps, WH[i, m] + eps
                P[i, m], Q[i, m] = numerator_and_denominator(family, a, b, one)


@cache
def nmf_block_for(family: int) -> Kernel:
    """Return the kernel of an NMF pass for a family.

    Kullback–Leibler needs fewer products: WᵀQ and QHᵀ are sums of W and of H, because Q is 1. The
    Euclidean divergence has a kernel of its own.
    """
    if family == EUCLIDEAN:
        return euclidean_block

    @compiled
    def nmf_block(
        X: Array, weights: Array, H: Array, W: Array, Wt: Array, rates: Array, eps: Scalar,
        gamma: Scalar, least: Scalar, PH: Array, QH: Array, H1: Array,
    ) -> None:  # fmt: skip
        """Update the activations H (frames, K) of a block, then add to (PHᵀ)ᵀ, (QHᵀ)ᵀ and H1.

        This is done in pieces that stay in the cache, which also makes the products with the few
        columns of W fastest.
        """
        n, K = H.shape
        M = len(W)
        zero, one = X.dtype.type(0), X.dtype.type(1)
        v, WH = np.empty(M, X.dtype), np.empty((PIECE, M), X.dtype)
        P, Q = np.empty((PIECE, M), X.dtype), np.empty((PIECE, M), X.dtype)
        numerator, denominator = np.empty((PIECE, K), X.dtype), np.empty((PIECE, K), X.dtype)
        weighted, part = np.empty((PIECE, K), X.dtype), np.empty((K, M), X.dtype)
        if family == KULLBACK_LEIBLER:
            column_sums(Wt, denominator)
        for first in range(0, n, PIECE):
            p = min(PIECE, n - first)
            h = H[first : first + p]
            if gamma > zero:
                np.dot(h, Wt, WH[:p])
                split(family, X, first, 1, WH[:p], eps, v, P, Q)
                np.dot(P[:p], W, numerator[:p])
                if family != KULLBACK_LEIBLER:
                    np.dot(Q[:p], W, denominator[:p])
                update(h, numerator, denominator, rates, gamma, least, zero, one)
            weigh(h, weights, first, weighted, H1)
            np.dot(h, Wt, WH[:p])
            split(family, X, first, 1, WH[:p], eps, v, P, Q)
            np.dot(weighted[:p].T, P[:p], part)
            PH += part
            if family != KULLBACK_LEIBLER:
                np.dot(weighted[:p].T, Q[:p], part)
                QH += part
        if family == KULLBACK_LEIBLER:
            for k in range(K):
                for m in range(M):
                    QH[k, m] += H1[k]

    return nmf_block


@compiled
def euclidean_block(
    X: Array, weights: Array, H: Array, W: Array, Wt: Array, rates: Array, eps: Scalar,
    gamma: Scalar, least: Scalar, PH: Array, QH: Array, H1: Array,
) -> None:  # fmt: skip
    """The same for the Euclidean divergence, whose Q is v̂: WᵀQ and QHᵀ need only WᵀW and HHᵀ."""
    n, K = H.shape
    M = len(W)
    zero, one = X.dtype.type(0), X.dtype.type(1)
    v, P = np.empty(M, X.dtype), np.empty((PIECE, M), X.dtype)
    numerator, denominator = np.empty((PIECE, K), X.dtype), np.empty((PIECE, K), X.dtype)
    sums, weighted = np.empty((1, K), X.dtype), np.empty((PIECE, K), X.dtype)
    part, square = np.empty((K, M), X.dtype), np.empty((K, K), X.dtype)
    inner, outer = np.empty((K, K), X.dtype), np.zeros((K, K), X.dtype)
    column_sums(Wt, sums)
    np.dot(Wt, W, inner)
    pressure = rates + eps * sums[0]
    for first in range(0, n, PIECE):
        p = min(PIECE, n - first)
        h = H[first : first + p]
        for i in range(p):
            frame_power(X, first + i, v)
            for m in range(M):
                P[i, m] = v[m] + eps
        if gamma > zero:
            np.dot(P[:p], W, numerator[:p])
            np.dot(h, inner, denominator[:p])
            update(h, numerator, denominator, pressure, gamma, least, zero, one)
        weigh(h, weights, first, weighted, H1)
        np.dot(weighted[:p].T, P[:p], part)
        PH += part
        np.dot(weighted[:p].T, h, square)
        outer += square
    np.dot(outer, Wt, part)
    for k in range(K):
        for m in range(M):
            QH[k, m] += part[k, m] + eps * H1[k]


@inlined
def update(
    h: Array, numerator: Array, denominator: Array, rates: Array, gamma: Scalar, least: Scalar,
    zero: Scalar, one: Scalar,
) -> None:  # fmt: skip
    """H ← h [numerator / (denominator + rates)]^γ."""
    for i in range(h.shape[0]):
        for k in range(h.shape[1]):
            d = denominator[i, k] + rates[k]
            ratio = numerator[i, k] / d if d > zero else one
            if gamma != one:
                ratio = ratio**gamma
            h[i, k] = max(h[i, k] * ratio, min(h[i, k], least))


@inlined
def weigh(h: Array, weights: Array, first: int, weighted: Array, H1: Array) -> None:
    """Activations times the weights of their frames, which are added to H1."""
    for i in range(h.shape[0]):
        weight = h.dtype.type(weights[first + i])
        for k in range(h.shape[1]):
            weighted[i, k] = weight * h[i, k]
            H1[k] += weighted[i, k]


@compiled
def column_sums(Wt: Array, sums: Array) -> None:
    """Wᵀ1, in every row of `sums`."""
    for k in range(len(Wt)):
        total = Wt[k, 0]
        for m in range(1, Wt.shape[1]):
            total += Wt[k, m]
        sums[:, k] = total


@reassociated
def frame_model(h: Array, Wt: Array, eps: float, v_hat: Array) -> None:
    """v̂ = Wh + ε of one frame; two components at a time need half as much memory traffic."""
    v_hat[:] = eps
    for k in range(0, len(h), 2):
        h0, h1 = h[k], h[k + 1]
        for m in range(len(v_hat)):
            v_hat[m] += h0 * Wt[k, m] + h1 * Wt[k + 1, m]


@cache
def converge_block_for(family: int) -> Kernel:
    """Return the kernel of single frames for a family."""

    @reassociated
    def converge_block(
        X: Array, H: Array, Wt: Array, mu: float, eps: float, least: float, tol: float,
        every: int, max_updates: int, degree: float,
    ) -> None:  # fmt: skip
        """Update the activations of each frame until they converge, one frame at a time.

        This is done in double precision and without products of matrices, whose rounding would
        depend on the number of frames. Wt has an even number of rows; the last one may be 0.
        """
        (n, K), M = H.shape, Wt.shape[1]
        v, h = np.empty(M, X.dtype), np.zeros(len(Wt))
        a, v_hat, P, Q = np.empty(M), np.empty(M), np.empty(M), np.empty(M)
        for i in range(n):
            frame_power(X, i, v)
            total = 0.0
            for m in range(M):
                a[m] = v[m] + eps
                total += a[m]
            least_gain = tol * M * (total / M) ** degree
            for k in range(K):
                h[k] = H[i, k]
            frame_model(h, Wt, eps, v_hat)
            before = np.inf
            for step in range(max_updates):
                if step % every == 0:
                    now = 0.0
                    for m in range(M):
                        now += float(cost(family, a[m], v_hat[m]))
                    for k in range(len(h)):
                        now += mu * h[k]
                    if not before - now > least_gain:
                        break
                    before = now
                for m in range(M):
                    P[m], Q[m] = numerator_and_denominator(family, a[m], v_hat[m], 1.0)
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

    return converge_block


# smooth activations: `divergences/penalty.py` has the readable formulas


@cache
def smooth_block_for(family: int) -> Kernel:
    """Return the kernel of smooth activations for a family."""

    @compiled
    def smooth_block(
        X: Array, weights: Array, links: Mask, H: Array, start: int, stop: int, W: Array, Wt: Array,
        rates: Array, smoothness: Scalar, eps: Scalar, gamma: Scalar, least: Scalar,
    ) -> None:  # fmt: skip
        """Update the activations H of every other frame from start to stop, pulled by neighbours.

        H (N, K) are those of all frames; `links` (N + 1,) says whether each frame, and the one
        after the last, follows the one before it. (`divergences/penalty.py` has the formulas; a
        neighbour that is missing is replaced by the frame itself.)
        """
        K, M = H.shape[1], len(W)
        zero, one, most = X.dtype.type(0), X.dtype.type(1), X.dtype.type(MOST_GROWTH)
        v, WH = np.empty(M, X.dtype), np.empty((PIECE, M), X.dtype)
        P, Q = np.empty((PIECE, M), X.dtype), np.ones((PIECE, M), X.dtype)
        h = np.empty((PIECE, K), X.dtype)
        numerator, denominator = np.empty((PIECE, K), X.dtype), np.empty((PIECE, K), X.dtype)
        for first in range(start, stop, 2 * PIECE):
            p = (min(first + 2 * PIECE, stop) - first + 1) // 2
            for i in range(p):
                h[i] = H[first + 2 * i]
            np.dot(h[:p], Wt, WH[:p])
            split(family, X, first, 2, WH[:p], eps, v, P, Q)
            np.dot(P[:p], W, numerator[:p])
            np.dot(Q[:p], W, denominator[:p])
            for i in range(p):
                n = first + 2 * i
                weight = X.dtype.type(weights[n])
                strength = smoothness / weight if weight > zero else zero
                for k in range(K):
                    old = h[i, k]
                    rise = H[n - 1, k] if links[n] else zero
                    fall = H[n + 1, k] if links[n + 1] else zero
                    rise = rise / old if rise > zero and old > zero else one
                    fall = old / fall if fall > zero and old > zero else one
                    a = old * numerator[i, k] + strength * rise
                    b = old * (denominator[i, k] + rates[k]) + strength * fall
                    ratio = min(a / b, most) if b > zero else one
                    if gamma != one:
                        ratio = ratio**gamma
                    H[n, k] = max(old * ratio, min(old, least))

    return smooth_block


@compiled
def roughness(H: Array, links: Mask, start: int, stop: int) -> float:
    """Σ d(h_{k,n-1} | h_kn) over the linked frames from start to stop."""
    total = 0.0
    for n in range(start, stop):
        if links[n]:
            for k in range(H.shape[1]):
                last = float(H[n - 1, k])
                if last > 0 and H[n, k] > 0:
                    ratio = last / float(H[n, k])
                    total += ratio - np.log(ratio) - 1
    return total
