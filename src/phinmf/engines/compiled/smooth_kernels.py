"""The update of smooth activations on a block of frames, compiled, and what they cost.

The readable formulas are in `divergences/penalty.py`. Arrays are (channels, frames, atoms).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from phinmf._types import Array, Mask
from phinmf.engines.compiled.compiling import Kernel, Scalar, compiled
from phinmf.engines.compiled.nmf_kernels import PIECE, split


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
                    rise = H[n - 1, k] if links[n] else zero
                    fall = H[n + 1, k] if links[n + 1] else zero
                    rise = rise / old if rise > zero and old > zero else one
                    fall = old / fall if fall > zero and old > zero else one
                    a = old * numerator[i, k] + strength * rise
                    b = old * (denominator[i, k] + rates[k]) + strength * fall
                    ratio = a / b if b > zero else one
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
