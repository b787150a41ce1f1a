"""Elementwise computations on a block of frames, compiled: one pass over memory for each.

The readable formulas are in `phinmf.divergences`, and these are tested against them. Arrays are
(channels, frames, atoms).
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
    half_slope_and_value,
    logarithms,
)

GROUP = 16  #: entries that are multiplied before a logarithm is taken
MOST = 1e300  #: largest ratio whose logarithm is taken


@compiled
def frame_power(X: Array, i: int, v: Array) -> None:
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
        C, n, M = X.shape
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
            for c in range(C):
                for m in range(M):
                    F[c, i, m] = s[m] * X[c, i, m]
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
                product[m] *= a * inverse if kappa else inverse
                s[m] = twice * (inverse - one / a if kappa else inverse)
            for c in range(C):
                for m in range(M):
                    F[c, i, m] = s[m] * X[c, i, m]
            if i - first == group - 1 or i == n - 1:
                for m in range(M):
                    if 1e-290 < product[m] < 1e290:
                        logarithm = np.log(product[m])
                    else:
                        logarithm = 0.0
                        for j in range(first, i + 1):
                            total = 0.0
                            for c in range(C):
                                total += X[c, j, m] * X[c, j, m]
                            a64 = total / C + eps if kappa else 1.0
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
        """B receives the weighted bound b(x), or the exact f''(x); V the power."""
        _, n, M = X.shape
        one, two = X.dtype.type(1), X.dtype.type(2)
        ratio, room, log = np.empty(M), np.empty(M), np.zeros(M)
        for i in range(n):
            frame_power(X, i, V[i])
            twice = two * X.dtype.type(weights[i])
            if family == KULLBACK_LEIBLER:
                log_ratios(V[i], WH[i], eps, ratio, room, log)
            for m in range(M):
                v, b, log_ratio = V[i, m], WH[i, m] + eps, X.dtype.type(log[m])
                if exact:
                    B[i, m] = twice * half_curvature(family, v, eps, b, log_ratio, one, True)
                else:
                    B[i, m] = twice * half_curvature(family, v, eps, b, log_ratio, one, False)

    return curvatures


@inlined
def log_ratios(v: Array, wh: Array, eps: Scalar, ratio: Array, room: Array, log: Array) -> None:
    """log(a/b) of a frame in double precision; that of a number, however small, if a is 0."""
    for m in range(len(v)):
        ratio[m] = min(max(float(v[m] + eps) / float(wh[m] + eps), float(LEAST)), MOST)
    logarithms(ratio, room, log)
