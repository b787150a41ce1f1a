"""Triton kernels for the elementwise part of an NMF step whose products PyTorch computes."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from phinmf._types import Tensor
from phinmf.divergences import Family
from phinmf.linalg.multiplicative import LEAST

ENTRIES = 1024  #: that a program computes


@triton.jit
def split(a, v_hat, FAMILY: tl.constexpr):
    """Return P and Q from a = v+ε. For Kullback–Leibler Q is 1 and what is returned is not used."""
    if FAMILY == "KULLBACK_LEIBLER":
        p, q = a / v_hat, v_hat
    elif FAMILY == "EUCLIDEAN":
        p, q = a, v_hat
    elif FAMILY == "SQUARE_ROOT":
        q = 1.0 / tl.sqrt(v_hat)
        p = a * q / v_hat
    else:
        q = 1.0 / v_hat
        p = a * q * q
    return p, q


@triton.jit
def _split_kernel(
    X, WH, EPS, PQ, MN, N, ROW, Q, C: tl.constexpr, FAMILY: tl.constexpr, PRODUCTS: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Write P in rows of length ROW, and Q at an offset of Q entries unless it is 1."""
    b = tl.program_id(1).to(tl.int64)
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = place < MN
    eps = tl.load(EPS).to(X.dtype.element_ty)
    v = tl.load(X + b * C * MN + place, inside, 0.0)
    v = v * v
    for c in tl.static_range(1, C):
        x = tl.load(X + (b * C + c) * MN + place, inside, 0.0)
        v += x * x
    if C > 1:
        v = v * (1.0 / C)
    p, q = split(v + eps, tl.load(WH + b * MN + place, inside, 1.0) + eps, FAMILY)
    at = b * PRODUCTS * MN + place // N * ROW + place % N
    tl.store(PQ + at, p, inside)
    if PRODUCTS > 1:
        tl.store(PQ + at + Q, q, inside)


@triton.jit
def _multiply_kernel(
    H, sums, totals, MU, KN, N, least, PRODUCTS: tl.constexpr, GAMMA: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Update H ← H∘[WᵀP/(WᵀQ+μ)]^γ from both products side by side, or from WᵀP and Wᵀ1."""
    b = tl.program_id(1).to(tl.int64)
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = place < KN
    h = tl.load(H + b * KN + place, inside, 0.0)
    row = (b * KN + place) // N
    at = row * PRODUCTS * N + place % N
    numerator = tl.load(sums + at, inside, 0.0)
    if PRODUCTS > 1:
        denominator = tl.load(sums + at + N, inside, 0.0)
    else:
        denominator = tl.load(totals + row, inside, 0.0)
    denominator += tl.load(MU).to(h.dtype)
    ratio = tl.where(denominator > 0, numerator / denominator, 1.0)
    if GAMMA != 1:
        ratio = tl.exp(GAMMA * tl.log(ratio)).to(h.dtype)
    tl.store(H + b * KN + place, tl.maximum(h * ratio, tl.minimum(h, least)), inside)


def splits(X: Tensor, W: Tensor, H: Tensor, eps: Tensor, family: Family, stacked: bool) -> Tensor:
    """Return P and Q, side by side (B, M, 2N) or stacked (B, 2M, N); only P (B, M, N) if Q is 1."""
    B, C, M, N = X.shape
    n = products(family)
    PQ = torch.empty((B, n * M, N) if stacked else (B, M, n * N), dtype=X.dtype, device=X.device)
    offset = M * N if stacked else N
    _split_kernel[(triton.cdiv(M * N, ENTRIES), B)](
        X, W @ H, eps, PQ, M * N, N, PQ.shape[2], offset, C, family.name, n, BLOCK=ENTRIES
    )
    return PQ


def update(
    X: Tensor, W: Tensor, H: Tensor, mu: Tensor, eps: Tensor, gamma: float, family: Family
) -> None:
    """Update H ← H∘[WᵀP/(WᵀQ+μ)]^γ in place."""
    B, K, N = H.shape
    n = products(family)
    sums = W.mT @ splits(X, W, H, eps, family, stacked=False)
    totals = W.sum(dim=1) if n == 1 else sums  # which are not read
    _multiply_kernel[(triton.cdiv(K * N, ENTRIES), B)](
        H, sums, totals, mu, K * N, N, LEAST, n, gamma, BLOCK=ENTRIES
    )


def products(family: Family) -> int:
    """Return how many of P and Q are multiplied by W or H: where Q is 1, sums are enough."""
    return 1 if family is Family.KULLBACK_LEIBLER else 2
