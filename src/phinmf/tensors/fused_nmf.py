"""The NMF step as Triton kernels, with the matrix products of PyTorch for many components.

The same functions as in `plain`, which they are tested against. Sums run in a fixed order.

In float32 and for few components, the kernels compute the products too: one pass over the data for
H, one for the sums that W needs. Otherwise kernels compute P and Q, and PyTorch multiplies: this is
faster for many components, and Triton 3.6 compiles sums of products of float64 in a loop wrongly
for many shapes. (Triton passes floating-point arguments in single precision, so values that must be
exact are constants.)
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from phinmf._types import Tensor
from phinmf.divergences import Family
from phinmf.linalg.multiplicative import LEAST
from phinmf.tensors.fused_ratios import products, split, splits, update

ENTRIES = 1024  #: activations that a program scales at a time
PROGRAMS = 528  #: that share the sums over frames

# atoms, frames and warps of a program; the fastest ones on an H200
UPDATE_TILE, SUMS_TILE, TILE_OF_MANY = (64, 16, 2), (32, 32, 2), (16, 64, 1)


@triton.jit
def _tile(X, m, n, b, M, N, C: tl.constexpr):
    """Load the power of a tile of entries, and a mask of the entries that exist."""
    inside = (m[:, None] < M) & (n[None, :] < N)
    place = m[:, None].to(tl.int64) * N + n[None, :]
    v = tl.load(X + b * C * M * N + place, inside, 0.0)
    v = v * v
    for c in tl.static_range(1, C):
        x = tl.load(X + (b * C + c) * M * N + place, inside, 0.0)
        v += x * x
    if C > 1:
        v = v * (1.0 / C)
    return v, inside


@triton.jit
def _update_kernel(
    X, W, H, MU, EPS, M: tl.constexpr, N, K, least, C: tl.constexpr, FAMILY: tl.constexpr,
    PRODUCTS: tl.constexpr, GAMMA: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr,
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
        v, inside = _tile(X, m, n, b, M, N, C)
        wh = tl.dot(w, h, input_precision="ieee", out_dtype=dtype)
        p, q = split(v + eps, tl.where(inside, wh + eps, 1.0), FAMILY)
        wt = tl.trans(w)
        numerator = tl.dot(wt, p, numerator, input_precision="ieee", out_dtype=dtype)
        if PRODUCTS > 1:
            denominator = tl.dot(wt, q, denominator, input_precision="ieee", out_dtype=dtype)
        else:
            denominator += tl.sum(w, axis=0)[:, None]
    denominator += mu
    ratio = tl.where(denominator > 0, numerator / denominator, 1.0)
    if GAMMA != 1:
        ratio = tl.exp(GAMMA * tl.log(ratio)).to(dtype)
    new = tl.maximum(h * ratio, tl.minimum(h, least))
    tl.store(H + at, new, here)


@triton.jit
def _sums_kernel(
    X, W, H, weights, EPS, parts, M, N, K, W_ROW, TILES: tl.constexpr, C: tl.constexpr,
    FAMILY: tl.constexpr, PRODUCTS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr,
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
        v, inside = _tile(X, m, n, b, M, N, C)
        wh = tl.dot(w, h, input_precision="ieee", out_dtype=dtype)
        p, q = split(v + eps, tl.where(inside, wh + eps, 1.0), FAMILY)
        weighted = tl.trans(h * tl.load(weights + b * W_ROW + n, n < N, 0.0)[None, :].to(dtype))
        numerator = tl.dot(p, weighted, numerator, input_precision="ieee", out_dtype=dtype)
        if PRODUCTS > 1:
            denominator = tl.dot(q, weighted, denominator, input_precision="ieee", out_dtype=dtype)
    part = (b * tl.num_programs(1) + tl.program_id(1)) * PRODUCTS * M * K
    at = m[:, None] * K + k[None, :]
    tl.store(parts + part + at, numerator, real)
    if PRODUCTS > 1:
        tl.store(parts + part + M * K + at, denominator, real)


@triton.jit
def _dictionary_kernel(
    W, H, weights, sums, MU, FREE, M, N, K, W_ROW, least, PRODUCTS: tl.constexpr,
    GAMMA: tl.constexpr, TILES: tl.constexpr, BM: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Update W ← W∘[PHᵀ/(QHᵀ+μ1(H1)ᵀ)]^γ for one component, then normalise it and scale H.

    Where Q is 1, there is no second product, and QHᵀ = 1(H1)ᵀ.
    """
    k = tl.program_id(0)
    b = tl.program_id(1).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    if tl.load(FREE + k):
        activation = tl.zeros((BLOCK,), tl.float64)
        for tile in range(0, TILES):
            n = tile * BLOCK + lanes
            h = tl.load(H + (b * K + k) * N + n, n < N, 0.0).to(tl.float64)
            activation += h * tl.load(weights + b * W_ROW + n, n < N, 0.0)
        total = tl.sum(activation)
        m = tl.arange(0, BM)
        inside = m < M
        at = m * K + k
        w = tl.load(W + b * M * K + at, inside, 0.0)
        place = b * PRODUCTS * M * K + at
        numerator = tl.load(sums + place, inside, 0.0)
        pressure = tl.load(MU) * total
        if PRODUCTS > 1:
            denominator = (tl.load(sums + place + M * K, inside, 0.0) + pressure).to(w.dtype)
        else:
            denominator = (total + pressure).to(w.dtype)
        ratio = tl.where(denominator > 0, numerator / denominator, 1.0)
        if GAMMA != 1:
            ratio = tl.exp(GAMMA * tl.log(ratio)).to(w.dtype)
        w = tl.maximum(w * ratio, tl.minimum(w, least))
        s = tl.sum(w)
        s = tl.where(s == 0, 1.0, s).to(w.dtype)
        tl.store(W + b * M * K + at, w / s, inside)
        for tile in range(0, TILES):
            n = tile * BLOCK + lanes
            h = tl.load(H + (b * K + k) * N + n, n < N, 0.0)
            tl.store(H + (b * K + k) * N + n, h * s, n < N)


def update_activations(
    X: Tensor, W: Tensor, H: Tensor, mu: Tensor, eps: Tensor, gamma: float, family: Family,
    many: bool = False,
) -> None:  # fmt: skip
    """Update H ← H∘[WᵀP/(WᵀQ+μ)]^γ in place; `many` chooses the tile for many frames."""
    B, C, M, N = X.shape
    K = H.shape[1]
    if most_inside(X.dtype, many) < K:
        update(X, W, H, mu, eps, gamma, family)
        return
    BM, BN, warps = TILE_OF_MANY if many else UPDATE_TILE
    _update_kernel[(triton.cdiv(N, BN), B)](
        X, W, H, mu, eps, M, N, K, LEAST, C, family.name, products(family), gamma, BM=BM, BN=BN,
        BK=padded(K), num_warps=warps,
    )  # fmt: skip


def dictionary_sums(
    X: Tensor, W: Tensor, H: Tensor, weights: Tensor, eps: Tensor, family: Family,
    many: bool = False,
) -> Tensor:  # fmt: skip
    """Return the weighted PHᵀ and QHᵀ as (B, 2, M, K); only the first (B, 1, M, K) if Q is 1."""
    B, C, M, N = X.shape
    K, n = H.shape[1], products(family)
    if most_inside(X.dtype, many) < K:
        weighted = H * weights[:, None].to(H.dtype)
        sums = splits(X, W, H, eps, family, stacked=True) @ weighted.mT
        return sums.view(B, n, M, K)
    BM, BN, warps = TILE_OF_MANY if many else SUMS_TILE
    rows = triton.cdiv(M, BM)
    tiles = triton.cdiv(N, BN * triton.cdiv(PROGRAMS, rows * B))
    shares = triton.cdiv(N, tiles * BN)
    parts = torch.empty((B, shares, n, M, K), dtype=X.dtype, device=X.device)
    _sums_kernel[(rows, shares, B)](
        X, W, H, weights, eps, parts, M, N, K, row_of(weights), tiles, C, family.name, n,
        BM=BM, BN=BN, BK=padded(K), num_warps=warps,
    )  # fmt: skip
    return parts.sum(dim=1)


def nmf_step(
    X: Tensor, W: Tensor, H: Tensor, weights: Tensor, mu: Tensor, eps: Tensor, gamma: float,
    family: Family, free: Tensor, many: bool = False,
) -> None:  # fmt: skip
    """Step ⋆ in place: update H, then the free columns of W, then normalise both."""
    update_activations(X, W, H, mu, eps, gamma, family, many)
    sums = dictionary_sums(X, W, H, weights, eps, family, many)
    B, _, M, N = X.shape
    K = H.shape[1]
    _dictionary_kernel[(K, B)](
        W, H, weights, sums, mu, free, M, N, K, row_of(weights), LEAST, products(family),
        gamma, TILES=triton.cdiv(N, ENTRIES), BM=triton.next_power_of_2(M), BLOCK=ENTRIES,
    )  # fmt: skip


def most_inside(dtype: torch.dtype, many: bool) -> int:
    """Return the number of components up to which kernels compute the products."""
    if dtype == torch.float64:
        return 0
    return 16 if many else 64


def padded(K: int) -> int:
    """Return the number of components rounded up to a size that tiles can have."""
    return max(16, triton.next_power_of_2(K))


def row_of(weights: Tensor) -> int:
    """Return the stride from the weights of one restart to the next; 0 if all share them."""
    return weights.shape[1] if len(weights) > 1 else 0
