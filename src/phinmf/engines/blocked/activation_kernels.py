"""Updates of activations that are smooth, or of single frames until they converge, compiled.

The readable formulas are in `penalties/smooth.py` and `engines/sums.py`. Arrays are (channels,
frames, atoms).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from phinmf._types import AnyArray
from phinmf.engines.blocked.compiling import compiled, reassociated
from phinmf.engines.blocked.entries import cost, numerator_and_denominator
from phinmf.engines.blocked.kernels import frame_power
from phinmf.engines.blocked.nmf_kernels import PIECE, split


@cache
def smooth_block_for(family: int) -> Any:
    """Return the kernel of smooth activations for a family."""

    @compiled
    def smooth_block(
        X: AnyArray, weights: Any, links: Any, H: Any, start: int, stop: int, W: Any, Wt: Any,
        rates: Any, before: Any, after: Any, smoothness: Any, eps: Any, gamma: Any, least: Any,
    ) -> None:  # fmt: skip
        """Update the activations H of every other frame from start to stop, pulled by neighbours.

        `before` and `after` are the activations of the frames around all of H.
        (`penalties/smooth.py` has the formulas; a neighbour that is missing is replaced by the
        frame itself.)
        """
        K, M = H.shape[1], len(W)
        zero, one = X.dtype.type(0), X.dtype.type(1)
        v, WH = np.empty(M, X.dtype), np.empty((PIECE, M), X.dtype)
        P, Q = np.empty((PIECE, M), X.dtype), np.empty((PIECE, M), X.dtype)
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

    return smooth_block


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
