"""The formulas of the compiled families for one entry, with a = v + ε and b = v̂.

`phinmf.divergences` has them in readable form, and these are tested against them.
"""

from __future__ import annotations

import numpy as np

from phinmf._types import Array
from phinmf.divergences.base import Family
from phinmf.divergences.beta import LEAST_POSITIVE
from phinmf.engines.compiled.compiling import Scalar, compiled, inlined

# Numba takes numbers as constants, but not the members of an enumeration
GAUSSIAN, ITAKURA_SAITO = int(Family.GAUSSIAN), int(Family.ITAKURA_SAITO)
KULLBACK_LEIBLER, EUCLIDEAN = int(Family.KULLBACK_LEIBLER), int(Family.EUCLIDEAN)

LEAST = np.float32(LEAST_POSITIVE)  #: in either precision

# the bits of double precision
FRACTION = np.uint64(52)  #: their number in a fraction
BIAS = np.uint64(1023) << FRACTION  #: the bits of 1.0
LOWEST = np.uint64(np.array(0.5**0.5).view(np.uint64))  #: where fractions begin: at √½
WHOLE = np.uint64(np.array(2.0**52).view(np.uint64))  #: of 2⁵² + n, the lowest bits are those of n
OFFSET = 2.0**52 + 1023
LN2 = float(np.log(2))


@inlined
def half_slope_and_value(family: int, a: Scalar, b: Scalar, one: Scalar) -> tuple[Scalar, Scalar]:
    """∂d/∂a and d of a family without logarithms; `one` is 1 in the precision to compute in."""
    if family == EUCLIDEAN:
        difference = a - b
        return difference, difference * difference / (one + one)
    root_a, root_b = np.sqrt(a), np.sqrt(b)
    of_b, difference = one / root_b, root_a - root_b
    slope = of_b - one / root_a
    return slope + slope, (one + one) * difference * difference * of_b


@inlined
def half_curvature(
    family: int, v: Scalar, eps: Scalar, b: Scalar, log: Scalar, one: Scalar, exact: bool
) -> Scalar:
    """f''(x)/2, or half its bound; `log` is log(a/b) for Kullback–Leibler."""
    a = v + eps
    if family == GAUSSIAN:
        return one / b
    if family == ITAKURA_SAITO:
        of_b, of_a = one / b, one / a
        return of_b + (v - eps) * of_a * of_a if exact else of_b + of_a
    slope: Scalar
    rest: Scalar
    if family == KULLBACK_LEIBLER:
        slope, rest = log, (v + v) / max(a, LEAST)
    elif family == EUCLIDEAN:
        slope, rest = a - b, v + v
    else:
        of_a, of_b = one / np.sqrt(a), one / np.sqrt(b)
        slope = of_b - of_a
        slope, rest = slope + slope, (v + v) * of_a / a
    if not exact:
        slope = np.abs(slope)
    return slope + rest


@inlined
def half_pair_curvature(
    family: int, v: Scalar, eps: Scalar, b: Scalar, log: Scalar, one: Scalar
) -> Scalar:
    """Half the mean f'' of the two atoms of a pair of power v."""
    a = v + eps
    if family == GAUSSIAN:
        return one / b
    if family == ITAKURA_SAITO:
        return one / b - eps / (a * a)
    if family == KULLBACK_LEIBLER:
        return log + v / max(a, LEAST)
    if family == EUCLIDEAN:
        return a - b + v
    of_a, of_b = one / np.sqrt(a), one / np.sqrt(b)
    slope = of_b - of_a
    return slope + slope + v * of_a / a


@inlined
def numerator_and_denominator(
    family: int, a: Scalar, b: Scalar, one: Scalar
) -> tuple[Scalar, Scalar]:
    """P = a b^(β-2) and Q = b^(β-1), of which ∂d/∂b = Q - P."""
    if family == KULLBACK_LEIBLER:
        return a / b, one
    if family == EUCLIDEAN:
        return a, b
    q = one / (b if family in (GAUSSIAN, ITAKURA_SAITO) else np.sqrt(b))
    return a * q * q * (one if family in (GAUSSIAN, ITAKURA_SAITO) else q), q


@inlined
def cost(family: int, a: Scalar, b: Scalar) -> Scalar:
    """The terms of d(a|b) that depend on b, in double precision."""
    if family == KULLBACK_LEIBLER:
        return b - a * np.log(b)
    if family == EUCLIDEAN:
        return b * (b / 2 - a)
    if family in (GAUSSIAN, ITAKURA_SAITO):
        return a / b + np.log(b)
    root = np.sqrt(b)
    return 2 * (root + a / root)


@compiled
def logarithms(x: Array, fraction: Array, log: Array) -> None:
    """Logarithms of positive numbers, faster than one by one because this vectorises.

    x = 2ⁿ f with f from √½ to √2, and log f = 2 artanh s with s = (f-1)/(f+1), |s| < 0.172, by its
    series. Normal numbers only; `fraction` is memory to work in.
    """
    bits, of_fraction, of_log = x.view(np.uint64), fraction.view(np.uint64), log.view(np.uint64)
    for m in range(len(x)):
        exponent = (bits[m] - LOWEST + BIAS) >> FRACTION
        of_fraction[m] = bits[m] - (exponent << FRACTION) + BIAS
        of_log[m] = exponent | WHOLE
    for m in range(len(x)):
        s = (fraction[m] - 1) / (fraction[m] + 1)
        z = s * s
        series = 1 / 19 + z / 21
        series = 1 / 15 + z * (1 / 17 + z * series)
        series = 1 / 11 + z * (1 / 13 + z * series)
        series = 1 / 7 + z * (1 / 9 + z * series)
        series = 1 / 3 + z * (1 / 5 + z * series)
        log[m] = (log[m] - OFFSET) * LN2 + (2 * s + 2 * s * z * series)
