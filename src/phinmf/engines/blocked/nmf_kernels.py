"""The updates of activations on a block of frames, compiled, and the sums for that of W.

The readable formulas are in `engines/sums.py` and `penalties/smooth.py`. Arrays are (channels,
frames, atoms).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from phinmf._types import AnyArray
from phinmf.engines.blocked.compiling import compiled, inlined, reassociated
from phinmf.engines.blocked.entries import (
    EUCLIDEAN,
    KULLBACK_LEIBLER,
    cost,
    numerator_and_denominator,
)
from phinmf.engines.blocked.kernels import frame_power

PIECE = 128  #: frames that are computed at a time, so that they stay in the cache


@inlined
def split(
    family: int, X: AnyArray, first: int, step: int, WH: Any, eps: Any, v: Any, P: Any, Q: Any
) -> None:
    """P and Q for as many frames as WH has: every `step`th from `first` on."""
    one = X.dtype.type(1)
    for i in range(len(WH)):
        frame_power(X, first + step * i, v)
        for m in range(len(v)):
            P[i, m], Q[i, m] = numerator_and_denominator(family, v[m] + eps, WH[i, m] + eps, one)


@inlined
def numerators(family: int, X: AnyArray, first: int, WH: Any, eps: Any, v: Any, P: Any) -> None:
    """P alone, for as many frames as P has, where Q is not needed."""
    for i in range(len(P)):
        frame_power(X, first + i, v)
        for m in range(len(v)):
            P[i, m] = v[m] + eps if family == EUCLIDEAN else (v[m] + eps) / (WH[i, m] + eps)


@cache
def nmf_block_for(family: int) -> Any:
    """Return the kernel of an NMF pass for a family.

    Two of them need fewer products: WᵀQ and QHᵀ are sums of W and of H for Kullback–Leibler, where
    Q is 1, and follow from WᵀW and HHᵀ for the Euclidean divergence, where Q is v̂.
    """

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
        v, WH = np.empty(M, X.dtype), np.empty((PIECE, M), X.dtype)
        P, Q = np.empty((PIECE, M), X.dtype), np.empty((PIECE, M), X.dtype)
        numerator, denominator = np.empty((PIECE, K), X.dtype), np.empty((PIECE, K), X.dtype)
        weighted, part = np.empty((PIECE, K), X.dtype), np.empty((K, M), X.dtype)
        sums, inner = np.zeros(K, X.dtype), np.empty((K, K), X.dtype)
        outer, square = np.zeros((K, K), X.dtype), np.empty((K, K), X.dtype)
        for k in range(K):
            for m in range(M):
                sums[k] += Wt[k, m]
        if family == EUCLIDEAN:
            np.dot(Wt, W, inner)
        for first in range(0, n, PIECE):
            p = min(PIECE, n - first)
            h = H[first : first + p]
            if gamma > zero:
                if family == EUCLIDEAN:
                    numerators(family, X, first, WH, eps, v, P[:p])
                    np.dot(h, inner, denominator[:p])
                elif family == KULLBACK_LEIBLER:
                    np.dot(h, Wt, WH[:p])
                    numerators(family, X, first, WH, eps, v, P[:p])
                else:
                    np.dot(h, Wt, WH[:p])
                    split(family, X, first, 1, WH[:p], eps, v, P, Q)
                    np.dot(Q[:p], W, denominator[:p])
                np.dot(P[:p], W, numerator[:p])
                for i in range(p):
                    for k in range(K):
                        if family == EUCLIDEAN:
                            d = denominator[i, k] + eps * sums[k] + rates[k]
                        elif family == KULLBACK_LEIBLER:
                            d = sums[k] + rates[k]
                        else:
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
            if family == EUCLIDEAN:
                if gamma == zero:
                    numerators(family, X, first, WH, eps, v, P[:p])
                np.dot(weighted[:p].T, h, square)
                outer += square
            elif family == KULLBACK_LEIBLER:
                np.dot(h, Wt, WH[:p])
                numerators(family, X, first, WH, eps, v, P[:p])
            else:
                np.dot(h, Wt, WH[:p])
                split(family, X, first, 1, WH[:p], eps, v, P, Q)
            np.dot(weighted[:p].T, P[:p], part)
            PH += part
            if family not in (KULLBACK_LEIBLER, EUCLIDEAN):
                np.dot(weighted[:p].T, Q[:p], part)
                QH += part
        if family == EUCLIDEAN:
            np.dot(outer, Wt, part)
            QH += part
        if family in (KULLBACK_LEIBLER, EUCLIDEAN):
            level = eps if family == EUCLIDEAN else one
            for k in range(K):
                for m in range(M):
                    QH[k, m] += level * H1[k]

    return nmf_block


@reassociated
def frame_model(h: Any, Wt: Any, eps: float, v_hat: Any) -> None:
    """v̂ = Wh + ε of one frame; two components at a time need half as much memory traffic."""
    v_hat[:] = eps
    for k in range(0, len(h), 2):
        h0, h1 = h[k], h[k + 1]
        for m in range(len(v_hat)):
            v_hat[m] += h0 * Wt[k, m] + h1 * Wt[k + 1, m]


@cache
def converge_block_for(family: int) -> Any:
    """Return the kernel of single frames for a family."""

    @reassociated
    def converge_block(
        X: AnyArray, H: Any, Wt: Any, mu: float, eps: float, least: float, tol: float,
        every: int, max_updates: int, degree: float,
    ) -> None:  # fmt: skip
        """Update the activations of each frame until they converge, one frame at a time.

        This is done in double precision and without products of matrices, whose rounding would
        depend on the number of frames. Wt has an even number of rows; the last one may be 0.
        """
        _, n, M = X.shape
        K = H.shape[1]
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
                        now += cost(family, a[m], v_hat[m])
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
