"""The loss, its slope and its curvature as Triton kernels: each needs one pass over the data.

The same functions as in `plain`, which they are tested against, for tensors on a GPU (or on any
device in Triton's interpreter). Sums run in a fixed order: the same input gives the same bits. The
name of the family is a constant of a kernel, so each family has kernels of its own.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from phinmf._types import Tensor
from phinmf.divergences import Family

ENTRIES = 1024  #: that a program of an elementwise kernel computes
GROUP = 4  #: entries of equal weight whose logarithms are computed as that of their product


@triton.jit
def _entry(X, WH, weights, eps, place, b, MN, N, C: tl.constexpr, W_ROW):
    """Load power, model and weight of some entries of restart b."""
    inside = place < MN
    v = tl.load(X + b * C * MN + place, inside, 0.0)
    v = v * v
    for c in tl.static_range(1, C):
        x = tl.load(X + (b * C + c) * MN + place, inside, 0.0)
        v += x * x
    if C > 1:
        v = v * (1.0 / C)
    v_hat = tl.load(WH + b * MN + place, inside, 1.0) + eps
    weight = tl.load(weights + b * W_ROW + place % N, inside, 0.0)
    return v, v_hat, weight


@triton.jit
def _beta(a, v_hat, FAMILY: tl.constexpr):
    """Return d(a|b), in double precision, ∂d/∂a and ∂²d/∂a² of the β-divergence with b = v̂.

    Differences of the two are taken first, so that little is lost where they are almost equal.
    """
    if FAMILY == "KULLBACK_LEIBLER":
        ratio = a / v_hat
        first = tl.log(ratio)
        second = 1.0 / a
        r = ratio.to(tl.float64)
        value = v_hat.to(tl.float64) * (r * (first.to(tl.float64) - 1.0) + 1.0)
    elif FAMILY == "EUCLIDEAN":
        first = a - v_hat
        second = tl.full(a.shape, 1.0, a.dtype)
        value = 0.5 * first.to(tl.float64) * first.to(tl.float64)
    else:  # "SQUARE_ROOT"
        root, root_of_model = tl.sqrt(a), tl.sqrt(v_hat)
        difference = root - root_of_model
        first = 2.0 * difference / (root * root_of_model)
        second = 1.0 / (a * root)
        value = difference.to(tl.float64) * first.to(tl.float64) * root.to(tl.float64)
    return value, first, second


@triton.jit
def _times(a, b):
    return a * b


@triton.jit
def _loss_kernel(
    X, WH, weights, EPS, F, parts, MN, N, W_ROW, C: tl.constexpr, FAMILY: tl.constexpr,
    SLOPE: tl.constexpr, GROUP: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Sum the loss, and write the slope.

    For Itakura–Saito and the Gaussian likelihood, one division gives both reciprocals, and if
    weights are equal, GROUP entries share one logarithm; the weights of the padding are still 0.
    """
    b = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0).to(tl.int64) * GROUP * BLOCK
    place = first + tl.arange(0, GROUP)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    inside = place < MN
    eps = tl.load(EPS).to(X.dtype.element_ty)
    v, v_hat, weight = _entry(X, WH, weights, eps, place, b, MN, N, C, W_ROW)
    a = v + eps
    if FAMILY == "ITAKURA_SAITO" or FAMILY == "GAUSSIAN":
        both = 1.0 / (a * v_hat)
        slope = a * both  # 1/v̂
        ratio = a * slope
        if FAMILY == "ITAKURA_SAITO":
            slope -= v_hat * both
            argument = tl.where(weight > 0, ratio, 1.0).to(tl.float64)
            value = ratio.to(tl.float64) - 1.0
        else:
            argument = tl.where(weight > 0, 1.0 / v_hat, 1.0).to(tl.float64)
            value = ratio.to(tl.float64)
        total = tl.sum(tl.where(inside, value * weight, 0.0))
        if GROUP > 1:  # weights are equal
            total -= tl.sum(tl.log(tl.reduce(argument, 0, _times))) * tl.load(weights + b * W_ROW)
        else:
            total -= tl.sum(tl.log(argument) * weight)
    else:
        value, slope, _ = _beta(a, v_hat, FAMILY)
        total = tl.sum(tl.where(inside, value * weight, 0.0))
    tl.store(parts + b * tl.num_programs(0) + tl.program_id(0), total)
    if SLOPE:
        slope *= 2.0 * weight.to(v.dtype)
        for c in tl.static_range(0, C):
            x = tl.load(X + (b * C + c) * MN + place, inside, 0.0)
            tl.store(F + (b * C + c) * MN + place, slope * x, inside)


@triton.jit
def _curvature_kernel(
    X, WH, weights, EPS, exact, bound, V, MN, N, W_ROW, C: tl.constexpr, FAMILY: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(1).to(tl.int64)
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = place < MN
    eps = tl.load(EPS).to(X.dtype.element_ty)
    v, v_hat, weight = _entry(X, WH, weights, eps, place, b, MN, N, C, W_ROW)
    twice = 2.0 * weight.to(v.dtype)
    a = v + eps
    if FAMILY == "ITAKURA_SAITO":
        inverse, of_a = 1.0 / v_hat, 1.0 / a
        f, h = twice * (inverse + (v - eps) * of_a * of_a), twice * (inverse + of_a)
    elif FAMILY == "GAUSSIAN":
        f = twice / v_hat
        h = f
    else:
        _, slope, second = _beta(a, v_hat, FAMILY)
        rest = 2.0 * v * second
        f, h = twice * (slope + rest), twice * (tl.abs(slope) + rest)
    tl.store(exact + b * MN + place, f, inside)
    tl.store(bound + b * MN + place, h, inside)
    tl.store(V + b * MN + place, v, inside)


def _entries(X: Tensor, weights: Tensor, block: int) -> tuple[tuple[int, int], int, int, int, int]:
    """Return the grid of an elementwise kernel, and its arguments MN, N, W_ROW and C."""
    B, C, M, N = X.shape
    grid = (triton.cdiv(M * N, block), B)
    return grid, M * N, N, N if len(weights) > 1 else 0, C


def loss(
    X: Tensor, WH: Tensor, weights: Tensor, equal: bool, eps: Tensor, family: Family
) -> Tensor:
    """Return the weighted sum of f over all entries of each restart, in double precision."""
    return _losses(X, WH, weights, equal, eps, family, None)


def loss_and_slope(
    X: Tensor, WH: Tensor, weights: Tensor, equal: bool, eps: Tensor, family: Family, F: Tensor
) -> Tensor:
    """Return the loss and write the weighted f'(x) to F."""
    return _losses(X, WH, weights, equal, eps, family, F)


def _losses(
    X: Tensor, WH: Tensor, weights: Tensor, equal: bool, eps: Tensor, family: Family,
    F: Tensor | None,
) -> Tensor:  # fmt: skip
    """Return the loss; write the weighted f'(x) to F, unless it is None."""
    group = GROUP if equal else 1
    lanes = 256 if X.dtype == torch.float64 else 512
    grid, MN, N, row, C = _entries(X, weights, group * lanes)
    parts = torch.empty(grid[::-1], dtype=torch.float64, device=X.device)
    _loss_kernel[grid](
        X, WH, weights, eps, X if F is None else F, parts, MN, N, row, C, family.name,
        SLOPE=F is not None, GROUP=group, BLOCK=lanes,
    )  # fmt: skip
    return parts.sum(dim=1)


def curvatures(
    X: Tensor, WH: Tensor, weights: Tensor, eps: Tensor, family: Family
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the weighted f''(x), its weighted bound b(x), and the power."""
    grid, MN, N, row, C = _entries(X, weights, ENTRIES)
    exact, bound, V = torch.empty_like(WH), torch.empty_like(WH), torch.empty_like(WH)
    _curvature_kernel[grid](
        X, WH, weights, eps, exact, bound, V, MN, N, row, C, family.name, BLOCK=ENTRIES
    )
    return exact, bound, V
