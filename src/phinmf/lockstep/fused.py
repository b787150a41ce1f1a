"""The sums over frames as Triton kernels: one pass over memory for each question.

The same functions as in `formulas`, which they are tested against, for tensors on a GPU (or anywhere
in Triton's interpreter). Sums run in a fixed order: the same input gives the same bits.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from phinmf.lockstep.exponential import _A, _B, _I
from phinmf.multiplicative import LEAST

Tensor = torch.Tensor

ENTRIES = 1024  #: of an elementwise program
MOST_COMPONENTS = 128  #: that the NMF kernels hold in registers


@triton.jit
def _entry(X, WH, weights, eps, place, b, MN, N, share, C: tl.constexpr, W_ROW):  # type: ignore[no-untyped-def]
    """Power, model and weight of some entries of restart b."""
    inside = place < MN
    v = tl.load(X + b * C * MN + place, inside, 0.0)
    v = v * v
    for c in tl.static_range(1, C):
        x = tl.load(X + (b * C + c) * MN + place, inside, 0.0)
        v += x * x
    if C > 1:
        v = (v * share).to(v.dtype)
    v_hat = tl.load(WH + b * MN + place, inside, 1.0) + eps
    weight = tl.load(weights + b * W_ROW + place % N, inside, 0.0)
    return v, v_hat, weight


@triton.jit
def _loss_kernel(  # type: ignore[no-untyped-def]
    X, WH, weights, EPS, F, parts, MN, N, W_ROW, share, C: tl.constexpr, IS: tl.constexpr,
    SLOPE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(1).to(tl.int64)
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < MN
    eps = tl.load(EPS).to(X.dtype.element_ty)
    v, v_hat, weight = _entry(X, WH, weights, eps, place, b, MN, N, share, C, W_ROW)
    a = v + eps
    inverse = 1.0 / v_hat
    ratio = a * inverse
    if IS:
        value = ratio - tl.log(ratio) - 1.0
    else:
        value = ratio + tl.log(v_hat)
    total = tl.sum(tl.where(inside, value.to(tl.float64) * weight, 0.0), axis=0)
    tl.store(parts + b * tl.num_programs(0) + tl.program_id(0), total)
    if SLOPE:
        if IS:
            slope = inverse - 1.0 / a
        else:
            slope = inverse
        slope = 2.0 * weight.to(v.dtype) * slope
        for c in tl.static_range(0, C):
            x = tl.load(X + (b * C + c) * MN + place, inside, 0.0)
            tl.store(F + (b * C + c) * MN + place, slope * x, inside)


@triton.jit
def _curvature_kernel(  # type: ignore[no-untyped-def]
    X, WH, weights, EPS, exact, bound, V, MN, N, W_ROW, share, C: tl.constexpr, IS: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(1).to(tl.int64)
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < MN
    eps = tl.load(EPS).to(X.dtype.element_ty)
    v, v_hat, weight = _entry(X, WH, weights, eps, place, b, MN, N, share, C, W_ROW)
    twice = 2.0 * weight.to(v.dtype)
    inverse = 1.0 / v_hat
    if IS:
        of_a = 1.0 / (v + eps)
        f = twice * (inverse + (v - eps) * of_a * of_a)
        h = twice * (inverse + of_a)
    else:
        f = twice * inverse
        h = f
    tl.store(exact + b * MN + place, f, inside)
    tl.store(bound + b * MN + place, h, inside)
    tl.store(V + b * MN + place, v, inside)


@triton.jit
def _tile(X, m, n, b, M, N, share, C: tl.constexpr):  # type: ignore[no-untyped-def]
    """Power of a tile of entries, and which of them exist."""
    inside = (m[:, None] < M) & (n[None, :] < N)
    place = m[:, None].to(tl.int64) * N + n[None, :]
    v = tl.load(X + b * C * M * N + place, inside, 0.0)
    v = v * v
    for c in tl.static_range(1, C):
        x = tl.load(X + (b * C + c) * M * N + place, inside, 0.0)
        v += x * x
    if C > 1:
        v = (v * share).to(v.dtype)
    return v, inside


@triton.jit
def _update_kernel(  # type: ignore[no-untyped-def]
    X, W, H, MU, EPS, M: tl.constexpr, N, K, share, least, gamma, C: tl.constexpr,
    ME: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(1).to(tl.int64)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    dtype = X.dtype.element_ty
    eps, mu = tl.load(EPS).to(dtype), tl.load(MU).to(dtype)
    at = b * K * N + k[:, None].to(tl.int64) * N + n[None, :]
    here = (k[:, None] < K) & (n[None, :] < N)
    h = tl.load(H + at, here, 0.0)
    numerator = tl.zeros((BK, BN), dtype)
    denominator = tl.zeros((BK, BN), dtype)
    for first in range(0, M, BM):
        m = first + tl.arange(0, BM)
        w = tl.load(
            W + b * M * K + m[:, None] * K + k[None, :], (m[:, None] < M) & (k[None, :] < K), 0.0
        )
        v, inside = _tile(X, m, n, b, M, N, share, C)
        wh = tl.dot(w, h, input_precision="ieee", out_dtype=dtype)
        q = tl.where(inside, 1.0 / (wh + eps), 0.0)
        p = (v + eps) * q * q
        wt = tl.trans(w)
        numerator = tl.dot(wt, p, numerator, input_precision="ieee", out_dtype=dtype)
        denominator = tl.dot(wt, q, denominator, input_precision="ieee", out_dtype=dtype)
    denominator += mu
    ratio = tl.where(denominator > 0, numerator / denominator, 1.0)
    if not ME:
        ratio = tl.exp(gamma * tl.log(ratio)).to(dtype)
    new = tl.maximum(h * ratio, tl.minimum(h, least))
    tl.store(H + at, new, here)


@triton.jit
def _sums_kernel(  # type: ignore[no-untyped-def]
    X, W, H, weights, EPS, parts, M, N, K, W_ROW, share, TILES: tl.constexpr, C: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(2).to(tl.int64)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    k = tl.arange(0, BK)
    dtype = X.dtype.element_ty
    eps = tl.load(EPS).to(dtype)
    real = (m[:, None] < M) & (k[None, :] < K)
    w = tl.load(W + b * M * K + m[:, None] * K + k[None, :], real, 0.0)
    numerator = tl.zeros((BM, BK), dtype)
    denominator = tl.zeros((BM, BK), dtype)
    for tile in range(0, TILES):
        n = (tl.program_id(1) * TILES + tile) * BN + tl.arange(0, BN)
        place = b * K * N + k[:, None].to(tl.int64) * N + n[None, :]
        h = tl.load(H + place, (k[:, None] < K) & (n[None, :] < N), 0.0)
        v, inside = _tile(X, m, n, b, M, N, share, C)
        wh = tl.dot(w, h, input_precision="ieee", out_dtype=dtype)
        q = tl.where(inside, 1.0 / (wh + eps), 0.0)
        p = (v + eps) * q * q
        weighted = tl.trans(h * tl.load(weights + b * W_ROW + n, n < N, 0.0)[None, :].to(dtype))
        numerator = tl.dot(p, weighted, numerator, input_precision="ieee", out_dtype=dtype)
        denominator = tl.dot(q, weighted, denominator, input_precision="ieee", out_dtype=dtype)
    part = (b * tl.num_programs(1) + tl.program_id(1)) * 2 * M * K
    at = m[:, None] * K + k[None, :]
    tl.store(parts + part + at, numerator, real)
    tl.store(parts + part + M * K + at, denominator, real)


@triton.jit
def _combine_kernel(  # type: ignore[no-untyped-def]
    A, A2, A3, A6, B1, B2, B3, B4, B5, M, MM, a: tl.constexpr, b: tl.constexpr, i: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = place < MM
    one, two = tl.load(A + place, inside, 0.0), tl.load(A2 + place, inside, 0.0)
    three, six = tl.load(A3 + place, inside, 0.0), tl.load(A6 + place, inside, 0.0)
    in_matrix = place % (M * M)
    diagonal = ((in_matrix // M) == (in_matrix % M)).to(one.dtype)
    tl.store(B1 + place, a[0] * one + a[1] * two + a[2] * three, inside)
    tl.store(B2 + place, b[0] * one + b[1] * two + b[2] * three + b[3] * six, inside)
    third = b[4] * one + b[5] * two + b[6] * three + b[7] * six + i[0] * diagonal
    tl.store(B3 + place, third, inside)
    fourth = b[8] * one + b[9] * two + b[10] * three + b[11] * six + i[1] * diagonal
    tl.store(B4 + place, fourth, inside)
    tl.store(B5 + place, b[13] * two + b[14] * three + b[15] * six, inside)


def _entries(X: Tensor, weights: Tensor) -> tuple[Any, ...]:
    B, C, M, N = X.shape
    grid = (triton.cdiv(M * N, ENTRIES), B)
    return grid, M * N, N, N if len(weights) > 1 else 0, 1.0 / C, C


def loss(X: Tensor, WH: Tensor, weights: Tensor, eps: Tensor, kappa: float) -> Tensor:
    """Weighted sum of f over all entries, of each restart, in double precision."""
    grid, MN, N, row, share, C = _entries(X, weights)
    parts = torch.empty(grid[::-1], dtype=torch.float64, device=X.device)
    _loss_kernel[grid](
        X, WH, weights, eps, X, parts, MN, N, row, share, C, kappa == 1, SLOPE=False, BLOCK=ENTRIES
    )
    return parts.sum(dim=1)


def loss_and_slope(
    X: Tensor, WH: Tensor, weights: Tensor, eps: Tensor, kappa: float, F: Tensor
) -> Tensor:
    """The loss; F receives the weighted f'(x)."""
    grid, MN, N, row, share, C = _entries(X, weights)
    parts = torch.empty(grid[::-1], dtype=torch.float64, device=X.device)
    _loss_kernel[grid](
        X, WH, weights, eps, F, parts, MN, N, row, share, C, kappa == 1, SLOPE=True, BLOCK=ENTRIES
    )
    return parts.sum(dim=1)


def curvatures(
    X: Tensor, WH: Tensor, weights: Tensor, eps: Tensor, kappa: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The weighted f''(x), its weighted bound b(x), and the power."""
    grid, MN, N, row, share, C = _entries(X, weights)
    exact, bound, V = torch.empty_like(WH), torch.empty_like(WH), torch.empty_like(WH)
    _curvature_kernel[grid](
        X, WH, weights, eps, exact, bound, V, MN, N, row, share, C, kappa == 1, BLOCK=ENTRIES
    )
    return exact, bound, V


def update_activations(
    X: Tensor, W: Tensor, H: Tensor, mu: Tensor, eps: Tensor, gamma: float
) -> None:
    """H ← H∘[WᵀP/(WᵀQ+μ)]^γ, in place."""
    B, C, M, N = X.shape
    K = H.shape[1]
    BK = max(16, triton.next_power_of_2(K))
    BN = 32 if B * N >= 8192 else 16
    _update_kernel[(triton.cdiv(N, BN), B)](
        X, W, H, mu, eps, M, N, K, 1.0 / C, LEAST, gamma, C, gamma == 1, BM=32, BN=BN, BK=BK
    )


def dictionary_sums(
    X: Tensor, W: Tensor, H: Tensor, weights: Tensor, eps: Tensor
) -> tuple[Tensor, Tensor]:
    """PHᵀ and QHᵀ, weighted."""
    B, C, M, N = X.shape
    K = H.shape[1]
    BK = max(16, triton.next_power_of_2(K))
    BM = BN = 32
    rows = triton.cdiv(M, BM)
    splits = max(1, min(triton.cdiv(N, BN), triton.cdiv(528, rows * B)))
    tiles = triton.cdiv(triton.cdiv(N, splits), BN)
    splits = triton.cdiv(N, tiles * BN)
    parts = torch.empty((B, splits, 2, M, K), dtype=X.dtype, device=X.device)
    row = N if len(weights) > 1 else 0
    _sums_kernel[(rows, splits, B)](
        X, W, H, weights, eps, parts, M, N, K, row, 1.0 / C, tiles, C, BM=BM, BN=BN, BK=BK
    )
    sums = parts.sum(dim=1)
    return sums[:, 0], sums[:, 1]


def combinations(A: Tensor, A2: Tensor, A3: Tensor, A6: Tensor) -> tuple[Tensor, ...]:
    """B₁ … B₅ of the exponential."""
    outputs = [torch.empty_like(A) for _ in range(5)]
    M, MM = A.shape[-1], A.numel()
    b = tuple(x for row in _B for x in row)
    _combine_kernel[(triton.cdiv(MM, ENTRIES),)](
        A, A2, A3, A6, *outputs, M, MM, _A, b, _I, BLOCK=ENTRIES
    )
    return tuple(outputs)
