"""The memory of L-BFGS and the sums of the exponential as Triton kernels.

The same functions as in `memory` and `exponential`, which they are tested against.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from phinmf._types import Tensor
from phinmf.tensors.exponential import _A, _B, _I
from phinmf.tensors.memory import Memory

ENTRIES = 1024  #: entries that a program of an elementwise kernel computes


@triton.jit
def _rows(V, g, oldest, place, inside, b, P, SIZE: tl.constexpr):
    """Load a tile of the pairs, the oldest first, then the gradient, then zeros."""
    i = tl.arange(0, 16)[:, None]
    row = b * SIZE + (oldest + i) % SIZE
    pairs = tl.load(V + row * P + place[None, :], (i < SIZE) & inside[None, :], 0.0)
    last = tl.load(g + b * P + place, inside, 0.0)
    return pairs + tl.where(i == SIZE, last[None, :], 0.0)


@triton.jit
def _gram_kernel(
    S, Y, g, inverse, OLDEST, parts, P, TILES: tl.constexpr, SIZE: tl.constexpr,
    ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Sum ⟨s_i|z_j⟩ and ⟨z_i|Dz_j⟩ over a part of the entries; z are the y and the gradient.

    Every lane sums its own entries; the sums of the lanes are added once, at the end.
    """
    b = tl.program_id(1).to(tl.int64)
    oldest = tl.load(OLDEST + b)
    dtype = S.dtype.element_ty
    k = tl.arange(0, ROWS)
    i, j = k[:, None, None], k[None, :, None]
    sz = tl.zeros((ROWS, ROWS, BLOCK), dtype)
    zdz = tl.zeros((ROWS, ROWS, BLOCK), dtype)
    for tile in range(0, TILES):
        lanes = tl.arange(0, BLOCK)[None, None, :]
        place = (tl.program_id(0) * TILES + tile) * BLOCK + lanes
        inside = place < P
        row_i = (b * SIZE + (oldest + i) % SIZE) * P + place
        row_j = (b * SIZE + (oldest + j) % SIZE) * P + place
        last = tl.load(g + b * P + place, inside, 0.0)
        d = tl.load(inverse + b * P + place, inside, 0.0)
        s = tl.load(S + row_i, (i < SIZE) & inside, 0.0)
        z_i = tl.load(Y + row_i, (i < SIZE) & inside, 0.0) + tl.where(i == SIZE, last, 0.0)
        z_j = tl.load(Y + row_j, (j < SIZE) & inside, 0.0) + tl.where(j == SIZE, last, 0.0)
        sz += s * z_j
        zdz += (z_i * d) * z_j
    at = k[:, None] * 16 + k[None, :]
    part = parts + (b * tl.num_programs(0) + tl.program_id(0)) * 512
    tl.store(part + at, tl.sum(sz, axis=2).to(tl.float64))
    tl.store(part + 256 + at, tl.sum(zdz, axis=2).to(tl.float64))


@triton.jit
def _solve_kernel(grams, weights, PAIRS, SIZE: tl.constexpr):
    """Solve the small triangular systems for the weights of the s and of the Dz."""
    b = tl.program_id(0)
    k = tl.arange(0, 16)
    i, j = k[:, None], k[None, :]
    at = b * 512 + i * 16 + j
    sz, zdz = tl.load(grams + at), tl.load(grams + 256 + at)
    sy = tl.sum(tl.where((i == j) & (i < SIZE), sz, 0.0), axis=1)
    s_g = tl.sum(tl.where((j == SIZE) & (i < SIZE), sz, 0.0), axis=1)
    y_Dg = tl.sum(tl.where((j == SIZE) & (i < SIZE), zdz, 0.0), axis=1)
    newest = tl.sum(tl.where(k == SIZE - 1, sy, 0.0))
    y_Dy = tl.sum(tl.where((i == SIZE - 1) & (j == SIZE - 1), zdz, 0.0))
    good = (newest > 0) & (y_Dy > 0)
    scale = tl.where(good, newest, 1.0) / tl.where(good, y_Dy, 1.0)
    diagonal = tl.where(sy == 0, 1.0, sy)
    u = tl.zeros((16,), tl.float64)
    for step in tl.static_range(0, SIZE):
        now = SIZE - 1 - step
        row = tl.sum(tl.where((i == now) & (j > now) & (j < SIZE), sz, 0.0), axis=0)
        left = tl.sum(tl.where(k == now, s_g, 0.0)) - tl.sum(row * u)
        u = tl.where(k == now, left / diagonal, u)
    YDYu = tl.sum(tl.where((i < SIZE) & (j < SIZE), zdz, 0.0) * u[None, :], axis=1)
    inside = sy * u + scale * (YDYu - y_Dg)
    p = tl.zeros((16,), tl.float64)
    for now in tl.static_range(0, SIZE):
        column = tl.sum(tl.where((j == now) & (i < now), sz, 0.0), axis=1)
        left = tl.sum(tl.where(k == now, inside, 0.0)) - tl.sum(column * p)
        p = tl.where(k == now, left / diagonal, p)
    tl.store(weights + b * 32 + k, tl.where(k < SIZE, -p, 0.0))
    of_z = tl.where(k < SIZE, scale * u, tl.where(k == SIZE, -scale, 0.0))
    tl.store(weights + b * 32 + 16 + k, of_z)
    tl.store(PAIRS + b, tl.sum((sy != 0).to(tl.int64)))


@triton.jit
def _direction_kernel(
    S, Y, g, inverse, OLDEST, weights, E, parts, P, farthest, SIZE: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(1).to(tl.int64)
    oldest = tl.load(OLDEST + b)
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < P
    k = tl.arange(0, 16)
    dtype = S.dtype.element_ty
    of_s = tl.load(weights + b * 32 + k).to(dtype)
    of_z = tl.load(weights + b * 32 + 16 + k).to(dtype)
    s = _rows(S, g, oldest, place, inside, b, P, SIZE)
    z = _rows(Y, g, oldest, place, inside, b, P, SIZE)
    d = tl.load(inverse + b * P + place, inside, 0.0)
    e = tl.sum(s * of_s[:, None], axis=0) + d * tl.sum(z * of_z[:, None], axis=0)
    e = tl.minimum(tl.maximum(e, -farthest), farthest)
    tl.store(E + b * P + place, e, inside)
    slope = tl.load(g + b * P + place, inside, 0.0).to(tl.float64) * e
    tl.store(parts + b * tl.num_programs(0) + tl.program_id(0), tl.sum(slope) / 2)


@triton.jit
def _remember_kernel(
    S, Y, OLDEST, g, G, G_trial, E, ETA, ACCEPTED, CURVED, M, P, SIZE: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(1).to(tl.int64)
    if tl.load(ACCEPTED + b):
        place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = place < P
        turned = (place % M) * M + place // M
        G_new = tl.load(G_trial + b * P + place, inside, 0.0)
        g_new = G_new - tl.load(G_trial + b * P + turned, inside, 0.0)
        if tl.load(CURVED + b):
            at = (b * SIZE + tl.load(OLDEST + b)) * P + place
            y = g_new - tl.load(g + b * P + place, inside, 0.0)
            tl.store(Y + at, y, inside)
            step = tl.load(ETA + b) * tl.load(E + b * P + place, inside, 0.0)
            tl.store(S + at, step, inside)
        tl.store(g + b * P + place, g_new, inside)
        tl.store(G + b * P + place, G_new, inside)


@triton.jit
def _take_kernel(target, source, ACCEPTED, length, BLOCK: tl.constexpr):
    b = tl.program_id(1).to(tl.int64)
    if tl.load(ACCEPTED + b):
        place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = place < length
        tl.store(target + b * length + place, tl.load(source + b * length + place, inside), inside)


@triton.jit
def _combine_kernel(
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


def aim(memory: Memory, g: Tensor, farthest: float, E: Tensor) -> tuple[Tensor, Tensor]:
    """Write minus the inverse Hessian times g, clamped, to E; return its slope and pair count."""
    B, size, P = memory.S.shape
    held: tuple[Tensor, ...] = (memory.S, memory.Y, g, memory.inverse, memory.oldest)
    rows, block = (8, 64) if size < 8 else (16, 16)
    tiles = triton.cdiv(P, block * max(32, 264 // B))
    n = triton.cdiv(P, tiles * block)
    parts = torch.empty(B, n, 512, dtype=torch.float64, device=g.device)
    _gram_kernel[(n, B)](*held, parts, P, tiles, size, rows, BLOCK=block)
    grams = parts.sum(dim=1)
    weights = torch.empty(B, 32, dtype=torch.float64, device=g.device)
    pairs = torch.empty(B, dtype=torch.int64, device=g.device)
    _solve_kernel[(B,)](grams, weights, pairs, size, num_warps=1)
    n = triton.cdiv(P, 256)
    slopes = torch.empty(B, n, dtype=torch.float64, device=g.device)
    _direction_kernel[(n, B)](*held, weights, E, slopes, P, farthest, size, BLOCK=256)
    return slopes.sum(dim=1), pairs


def remember(
    memory: Memory, g: Tensor, G: Tensor, G_trial: Tensor, E: Tensor, eta: Tensor,
    accepted: Tensor, curved: Tensor,
) -> None:  # fmt: skip
    """Move to the accepted trials; also store the pair (s, y) where its curvature is positive."""
    B, size, P = memory.S.shape
    _remember_kernel[(triton.cdiv(P, ENTRIES), B)](
        memory.S, memory.Y, memory.oldest, g, G, G_trial, E, eta, accepted, curved, g.shape[-1], P,
        size, BLOCK=ENTRIES,
    )  # fmt: skip
    memory.oldest.copy_((memory.oldest + (accepted & curved)) % size)


def take(target: Tensor, source: Tensor, accepted: Tensor) -> None:
    """Copy source to target for the restarts whose trial was accepted."""
    length = target[0].numel()
    grid = (triton.cdiv(length, 2 * ENTRIES), len(target))
    _take_kernel[grid](target, source, accepted, length, BLOCK=2 * ENTRIES)


def combinations(A: Tensor, A2: Tensor, A3: Tensor, A6: Tensor) -> tuple[Tensor, ...]:
    """Return B₁ … B₅ of the exponential."""
    outputs = [torch.empty_like(A) for _ in range(5)]
    M, MM = A.shape[-1], A.numel()
    b = tuple(x for row in _B for x in row)
    _combine_kernel[(triton.cdiv(MM, ENTRIES),)](
        A, A2, A3, A6, *outputs, M, MM, _A, b, _I, BLOCK=ENTRIES
    )
    return tuple(outputs)
