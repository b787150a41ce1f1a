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
