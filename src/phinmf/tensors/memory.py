"""The pairs of L-BFGS for a batch of restarts, in the compact form of Byrd, Nocedal & Schnabel.

The direction is that of the two loops of `phinmf.solvers.lbfgs`, computed by two products with all
pairs and a small triangular system. Whole antisymmetric matrices are stored: every inner product
counts each pair of atoms twice, which cancels. `fused_memory` computes the same on a GPU.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from phinmf._types import Tensor
from phinmf.solvers.base import FARTHEST

ROUNDED = 1e-3  #: share of ‖s‖‖y‖ by which ⟨s|y⟩ > 0 may be missed in single precision


class Memory:
    """Steps S and changes Y of the gradient in a ring buffer; empty places are zero."""

    def __init__(self, B: int, size: int, M: int, dtype: torch.dtype, device: torch.device) -> None:
        self.S = torch.zeros(B, size, M * M, dtype=dtype, device=device)
        self.Y = torch.zeros_like(self.S)
        self.oldest = torch.zeros(B, dtype=torch.int64, device=device)  # is replaced next
        self.inverse = torch.zeros(B, M * M, dtype=dtype, device=device)  # of the metric

    def of(self, places: list[int]) -> dict[str, Tensor]:
        """Return a copy of the memory of some restarts."""
        return {name: kept[places] for name, kept in vars(self).items()}

    def take_over(self, remembered: dict[str, Tensor]) -> None:
        """Copy what `of` returned for as many restarts."""
        for name, kept in vars(self).items():
            kept.copy_(remembered[name])

    def clear(self, which: Tensor) -> None:
        """Remove the pairs of some restarts."""
        for kept in (self.S, self.Y):
            kept.masked_fill_(which[:, None, None], 0)


def grown(remembered: dict[str, Tensor], M: int) -> dict[str, Tensor]:
    """Return the same pairs between M atoms, of which the new ones come last.

    If there are more than M, nothing is remembered. The metric is computed again anyway.
    """
    S = remembered["S"]
    n = math.isqrt(S.shape[2])
    if n == M:
        return remembered
    wide = {name: S.new_zeros(*S.shape[:2], M, M) for name in ("S", "Y")}
    if n < M:
        for name, kept in wide.items():
            kept[..., :n, :n] = remembered[name].unflatten(2, (n, n))
    pairs = {name: kept.flatten(2) for name, kept in wide.items()}
    return {**remembered, **pairs, "inverse": S.new_zeros(len(S), M * M)}


def packed(remembered: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the arrays of a checkpoint, from what `Memory.of` returns for one restart."""
    return {name: kept[0] for name, kept in remembered.items()}


def unpacked(restarts: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Return the argument of `Memory.take_over`, from the checkpoints of several restarts."""
    return {name: torch.stack([kept[name] for kept in restarts]) for name in restarts[0]}


def fits(arrays: Mapping[str, NDArray[Any]], size: int, M: int) -> bool:
    """Whether arrays of NumPy, read from a file, can be the memory of one restart."""
    shapes = {"S": (size, M * M), "Y": (size, M * M), "oldest": (), "inverse": (M * M,)}
    if {name: array.shape for name, array in arrays.items()} != shapes:
        return False
    numbers = [arrays[name] for name in ("S", "Y", "inverse")]
    real = all(a.dtype in (np.float32, np.float64) and np.isfinite(a).all() for a in numbers)
    if not real or arrays["oldest"].dtype != np.int64 or (arrays["inverse"] < 0).any():
        return False
    S, Y, inverse = (array.astype(np.float64) for array in numbers)
    with np.errstate(all="ignore"):
        metric = np.einsum("im,m,im->i", Y, inverse, Y)
        lengths = np.sqrt(np.einsum("im,im->i", S, S) * np.einsum("im,im->i", Y, Y))
        curved = np.einsum("im,im->i", S, Y) >= -ROUNDED * lengths
    near = abs(S).max(initial=0) <= 1.01 * FARTHEST
    usable = np.isfinite(metric).all() and curved.all()
    return bool(near and usable and 0 <= arrays["oldest"] < size)


def set_metric(memory: Memory, curvature: Tensor) -> None:
    """Set the inverse metric to 1/curvature of each pair of atoms, 0 where that is not positive."""
    inverse = torch.where(curvature > 0, 1 / curvature, 0)
    inverse = torch.where(torch.isfinite(inverse), inverse, 0)  # of next to no curvature
    memory.inverse.copy_(inverse.flatten(1))


def aim(memory: Memory, g: Tensor, farthest: float, E: Tensor) -> tuple[Tensor, Tensor]:
    """Write minus the inverse Hessian times g, clamped, to E; return its slope and pair count."""
    size = memory.S.shape[1]
    order = (memory.oldest[:, None] + torch.arange(size, device=g.device)) % size
    S, Y = (x.gather(1, order[:, :, None].expand_as(x)) for x in (memory.S, memory.Y))
    Z = torch.cat([Y, g.flatten(1)[:, None]], dim=1)
    DZ = memory.inverse[:, None] * Z
    SZ, ZDZ = (S @ Z.mT).double(), (Z @ DZ.mT).double()
    SY, Sg, YDY, YDg = SZ[:, :, :-1], SZ[:, :, -1:], ZDZ[:, :-1, :-1], ZDZ[:, :-1, -1:]
    sy = SY.diagonal(dim1=-2, dim2=-1)  # 0 for an empty place, else positive
    newest, yDy = sy[:, -1], YDY[:, -1, -1]
    scale = torch.where((newest > 0) & (yDy > 0), newest / yDy, 1)[:, None, None]
    R = torch.triu(SY) + torch.diag_embed((sy == 0).double())
    u = torch.linalg.solve_triangular(R, Sg, upper=True)
    inside = sy[:, :, None] * u + scale * (YDY @ u - YDg)
    p = torch.linalg.solve_triangular(R.mT, inside, upper=False)
    weights = torch.cat([-scale * u, scale], dim=1)
    direction = p.mT.to(g.dtype) @ S + weights.mT.to(g.dtype) @ DZ
    torch.clamp(-direction.view_as(g), -farthest, farthest, out=E)
    return (g * E).sum(dim=(1, 2), dtype=torch.float64) / 2, (sy != 0).sum(dim=1)


def remember(
    memory: Memory, g: Tensor, G: Tensor, G_trial: Tensor, E: Tensor, eta: Tensor,
    accepted: Tensor, curved: Tensor,
) -> None:  # fmt: skip
    """Move to the accepted trials; also store the pair (s, y) where its curvature is positive."""
    chosen = accepted[:, None, None]
    g_trial = G_trial - G_trial.mT
    size = memory.S.shape[1]
    here = torch.arange(size, device=g.device) == memory.oldest[:, None]
    here = (here & (accepted & curved)[:, None])[:, :, None]
    memory.S.copy_(torch.where(here, (eta * E).flatten(1)[:, None], memory.S))
    memory.Y.copy_(torch.where(here, (g_trial - g).flatten(1)[:, None], memory.Y))
    memory.oldest.copy_((memory.oldest + (accepted & curved)) % size)
    g.copy_(torch.where(chosen, g_trial, g))
    G.copy_(torch.where(chosen, G_trial, G))


def take(target: Tensor, source: Tensor, accepted: Tensor) -> None:
    """Copy source to target for the restarts whose trial was accepted."""
    chosen = accepted.view(-1, *(1 for _ in target.shape[1:]))
    target.copy_(torch.where(chosen, source, target))
