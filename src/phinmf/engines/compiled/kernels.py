"""Elementwise computations on a block of frames, compiled: one pass over memory for each.

The readable formulas are in `phinmf.divergences`, and these are tested against them. Arrays are
(channels, frames, atoms). What the model sees of the channels, and of two atoms that share their
power as a pair, is a mean power: it, and what follows for each coefficient, are in the first four
functions alone. Powers and their model have an entry for each atom, or for each pair.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from phinmf._types import Array
from phinmf.engines.compiled.compiling import Kernel, Scalar, compiled, inlined
from phinmf.engines.compiled.entries import (
    GAUSSIAN,
    ITAKURA_SAITO,
    KULLBACK_LEIBLER,
    LEAST,
    half_curvature,
    half_pair_curvature,
    half_slope_and_value,
    logarithms,
)

GROUP = 16  #: entries that are multiplied before a logarithm is taken
MOST = 1e300  #: largest ratio whose logarithm is taken


@compiled
def frame_power(X: Array, i: int, v: Array) -> None:
    """v_m = mean over channels of x²_cm in frame i; over pairs of atoms, too, if v has those."""
    C, _, M = X.shape
    if len(v) < M:
        pair_power(X, i, v)
        return
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
def pair_power(X: Array, i: int, v: Array) -> None:
    """v_p = mean over channels of (x²_2p + x²_2p+1) / 2 in frame i."""
    C = len(X)
    for p in range(len(v)):
        v[p] = X[0, i, 2 * p] * X[0, i, 2 * p] + X[0, i, 2 * p + 1] * X[0, i, 2 * p + 1]
    for c in range(1, C):
        for p in range(len(v)):
            v[p] += X[c, i, 2 * p] * X[c, i, 2 * p] + X[c, i, 2 * p + 1] * X[c, i, 2 * p + 1]
    share = X.dtype.type(0.5 / C)
    for p in range(len(v)):
        v[p] *= share


@inlined
def frame_slopes(X: Array, i: int, s: Array, F: Array) -> None:
    """f'(x_cm) = s_m x_cm of every channel of frame i; both atoms of a pair have the same s."""
    for c in range(len(X)):
        if len(s) == X.shape[2]:
            for m in range(len(s)):
                F[c, i, m] = s[m] * X[c, i, m]
        else:
            for p in range(len(s)):
                F[c, i, 2 * p] = s[p] * X[c, i, 2 * p]
                F[c, i, 2 * p + 1] = s[p] * X[c, i, 2 * p + 1]


@inlined
def entry_power(X: Array, i: int, m: int, M: int) -> float:
    """v_m of M powers of frame i, a sum in double precision."""
    C, size = len(X), X.shape[2] // M
    total = 0.0
    for c in range(C):
        for k in range(size * m, size * (m + 1)):
            total += X[c, i, k] * X[c, i, k]
    return total / (C * size)


@cache
def loss_and_slope_for(family: int) -> Callable[..., float]:
    """Return the kernel of the loss for a family."""
    if family in (GAUSSIAN, ITAKURA_SAITO):
        return likelihood_for(family)

    @compiled
    def loss_and_slope(
        X: Array, WH: Array, weights: Array, equal: bool, eps: Scalar, F: Array
    ) -> float:
        """Weighted sum of f over a block; F receives the weighted f'(x)."""
        n, M = WH.shape
        one = X.dtype.type(1)
        v, s, values = np.empty(M, X.dtype), np.empty(M, X.dtype), np.zeros(M)
        ratio, room, log = np.empty(M), np.empty(M), np.empty(M)
        for i in range(n):
            frame_power(X, i, v)
            weight = weights[i]
            twice = X.dtype.type(2 * weight)
            if family == KULLBACK_LEIBLER:
                log_ratios(v, WH[i], eps, ratio, room, log)
                for m in range(M):
                    a, b = float(v[m] + eps), float(WH[i, m] + eps)
                    values[m] += weight * (a * log[m] - (a - b))
                    s[m] = twice * X.dtype.type(log[m])
            else:
                for m in range(M):
                    a, b = v[m] + eps, WH[i, m] + eps
                    slope, value = half_slope_and_value(family, a, b, one)
                    values[m] += weight * value
                    s[m] = twice * slope
            frame_slopes(X, i, s, F)
        loss = 0.0
        for m in range(M):
            loss += values[m]
        return loss

    return loss_and_slope


def likelihood_for(family: int) -> Callable[..., float]:
    """Return the kernel of (v+ε)/v̂ + log v̂ - κ (log(v+ε) + 1): κ = 1 is Itakura–Saito, 0 Gauss."""
    kappa = int(family == ITAKURA_SAITO)

    @compiled
    def loss_and_slope(
        X: Array, WH: Array, weights: Array, equal: bool, eps: Scalar, F: Array
    ) -> float:
        """Weighted sum of f over a block; F receives the weighted f'(x).

        One logarithm of a product of GROUP ratios of equal weight replaces those of the ratios. If
        the product leaves the range of numbers, the logarithms are taken one by one.
        """
        n, M = WH.shape
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
                product[m] *= a * inverse if kappa else inverse
                s[m] = twice * (inverse - one / a if kappa else inverse)
            frame_slopes(X, i, s, F)
            if i - first == group - 1 or i == n - 1:
                for m in range(M):
                    if 1e-290 < product[m] < 1e290:
                        logarithm = np.log(product[m])
                    else:
                        logarithm = 0.0
                        for j in range(first, i + 1):
                            a64 = entry_power(X, j, m, M) + eps if kappa else 1.0
                            logarithm += np.log(a64 / (WH[j, m] + eps))
                    loss += weight * (rational[m] - kappa * (i + 1 - first) - logarithm)
                    rational[m], product[m] = 0.0, 1.0
                first = i + 1
        return loss

    return loss_and_slope


@cache
def curvatures_for(family: int) -> Kernel:
    """Return the kernel of f'' and its bound for a family."""

    @compiled
    def curvatures(
        X: Array, WH: Array, weights: Array, eps: Scalar, exact: bool, B: Array, V: Array
    ) -> None:
        """B receives the weighted bound b(x), or the exact f''(x); V the power of each atom."""
        n, M = WH.shape
        pairs, power = X.shape[2] > M, np.empty(M, X.dtype)
        one, two = X.dtype.type(1), X.dtype.type(2)
        ratio, room, log = np.empty(M), np.empty(M), np.zeros(M)
        for i in range(n):
            frame_power(X, i, V[i])
            if pairs:
                pair_power(X, i, power)
            else:
                power[:] = V[i]
            twice = two * X.dtype.type(weights[i])
            if family == KULLBACK_LEIBLER:
                log_ratios(power, WH[i], eps, ratio, room, log)
            for m in range(M):
                v, b, log_ratio = power[m], WH[i, m] + eps, X.dtype.type(log[m])
                if not exact:
                    B[i, m] = twice * half_curvature(family, v, eps, b, log_ratio, one, False)
                elif not pairs:
                    B[i, m] = twice * half_curvature(family, v, eps, b, log_ratio, one, True)
                else:
                    B[i, m] = twice * half_pair_curvature(family, v, eps, b, log_ratio, one)

    return curvatures


@inlined
def log_ratios(v: Array, wh: Array, eps: Scalar, ratio: Array, room: Array, log: Array) -> None:
    """log(a/b) of a frame in double precision; that of a number, however small, if a is 0."""
    for m in range(len(v)):
        ratio[m] = min(max(float(v[m] + eps) / float(wh[m] + eps), float(LEAST)), MOST)
    logarithms(ratio, room, log)
