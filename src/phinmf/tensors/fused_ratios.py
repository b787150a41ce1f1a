"""Triton kernels for the elementwise part of an NMF step whose products PyTorch computes."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from phinmf._types import Tensor
from phinmf.linalg.multiplicative import LEAST

ENTRIES = 1024  #: that a program computes


@triton.jit
def _power_ratios_kernel(
    X, WH, EPS, PQ, MN, N, ROW, Q, C: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """Write P = (v+ε)/v̂² in rows of length ROW, and Q = 1/v̂ at an offset of Q entries."""
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
    q = 1.0 / (tl.load(WH + b * MN + place, inside, 1.0) + eps)
    at = b * 2 * MN + place // N * ROW + place % N
    tl.store(PQ + at, (v + eps) * q * q, inside)
    tl.store(PQ + at + Q, q, inside)


@triton.jit
def _multiply_kernel(H, sums, MU, KN, N, least, GAMMA: tl.constexpr, BLOCK: tl.constexpr):
    """Update H ← H∘[WᵀP/(WᵀQ+μ)]^γ from both products, which stand side by side."""
    b = tl.program_id(1).to(tl.int64)
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = place < KN
    h = tl.load(H + b * KN + place, inside, 0.0)
    at = b * 2 * KN + place // N * 2 * N + place % N
    numerator = tl.load(sums + at, inside, 0.0)
    denominator = tl.load(sums + at + N, inside, 0.0) + tl.load(MU).to(h.dtype)
    ratio = tl.where(denominator > 0, numerator / denominator, 1.0)
    if GAMMA != 1:
        ratio = tl.exp(GAMMA * tl.log(ratio)).to(h.dtype)
    tl.store(H + b * KN + place, tl.maximum(h * ratio, tl.minimum(h, least)), inside)


def power_ratios(
    X: Tensor, W: Tensor, H: Tensor, eps: Tensor, shape: tuple[int, int, int]
) -> Tensor:
    """Return P = (v+ε)/v̂² and Q = 1/v̂, side by side (B, M, 2N) or stacked (B, 2M, N)."""
    B, C, M, N = X.shape
    PQ = torch.empty(shape, dtype=X.dtype, device=X.device)
    offset = N if shape[2] > N else M * N
    _power_ratios_kernel[(triton.cdiv(M * N, ENTRIES), B)](
        X, W @ H, eps, PQ, M * N, N, shape[2], offset, C, BLOCK=ENTRIES
    )
    return PQ


def multiply(H: Tensor, sums: Tensor, mu: Tensor, gamma: float) -> None:
    """Update H ← H∘[WᵀP/(WᵀQ+μ)]^γ in place, from both products side by side (B, K, 2N)."""
    B, K, N = H.shape
    _multiply_kernel[(triton.cdiv(K * N, ENTRIES), B)](
        H, sums, mu, K * N, N, LEAST, gamma, BLOCK=ENTRIES
    )
