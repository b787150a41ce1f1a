"""The pairs of L-BFGS for a batch of restarts, in the compact form of Byrd, Nocedal & Schnabel.

The same direction as the two loops of `phinmf.solvers.lbfgs`, from two products with all pairs at
once and a triangular system as small as the memory. Matrices are held whole: every inner product
counts a pair of atoms twice, which cancels. Plain PyTorch, which `fused_memory` follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from phinmf._types import Tensor
from phinmf.solvers.base import FARTHEST


class Memory:
    """Steps and changes of the gradient in a ring; empty places are zero."""

    def __init__(self, B: int, size: int, M: int, dtype: torch.dtype, device: torch.device) -> None:
        self.S = torch.zeros(B, size, M * M, dtype=dtype, device=device)
        self.Y = torch.zeros_like(self.S)
        self.oldest = torch.zeros(B, dtype=torch.int64, device=device)  # to be replaced next
        self.inverse = torch.zeros(B, M * M, dtype=dtype, device=device)  # of the metric

    def of(self, places: list[int]) -> dict[str, Tensor]:
        """What some restarts remember, in memory of its own."""
        return {name: kept[places] for name, kept in vars(self).items()}

    def take_over(self, remembered: dict[str, Tensor]) -> None:
        """Remember what the restarts of another memory did."""
        for name, kept in vars(self).items():
            kept.copy_(remembered[name])

    def clear(self, which: Tensor) -> None:
        """Forget the pairs of some restarts."""
        for kept in (self.S, self.Y):
            kept.masked_fill_(which[:, None, None], 0)


def packed(remembered: dict[str, Tensor]) -> dict[str, Tensor]:
    """What `Memory.of` returns for one restart, as arrays for a checkpoint."""
    return {name: kept[0] for name, kept in remembered.items()}


def unpacked(restarts: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """What `Memory.take_over` takes, from the checkpoints of several restarts."""
    return {name: torch.stack([kept[name] for kept in restarts]) for name in restarts[0]}


def fits(arrays: Mapping[str, Any], size: int, M: int) -> bool:
    """Whether arrays of NumPy, from a file, can be what one restart remembers."""
    shapes = {"S": (size, M * M), "Y": (size, M * M), "oldest": (), "inverse": (M * M,)}
    if {name: array.shape for name, array in arrays.items()} != shapes:
        return False
    numbers = [arrays[name] for name in ("S", "Y", "inverse")]
    real = all(a.dtype in (np.float32, np.float64) and np.isfinite(a).all() for a in numbers)
    if not real or arrays["oldest"].dtype != np.int64 or (arrays["inverse"] < 0).any():
        return False
    far = abs(arrays["S"]).max(initial=0) <= 1.01 * FARTHEST
    curved = (np.einsum("im,im->i", arrays["S"], arrays["Y"]) >= 0).all()
    return bool(far and curved and 0 <= arrays["oldest"] < size)


def set_metric(memory: Memory, curvature: Tensor) -> None:
    """Weigh by the curvature of each pair of atoms; 0 where that is 0."""
    inverse = torch.where(curvature > 0, 1 / curvature, 0)
    memory.inverse.copy_(inverse.flatten(1))


def aim(memory: Memory, g: Tensor, farthest: float, E: Tensor) -> tuple[Tensor, Tensor]:
    """E ← minus the inverse Hessian times g, within reach; its slope, and the number of pairs."""
    size = memory.S.shape[1]
    order = (memory.oldest[:, None] + torch.arange(size, device=g.device)) % size
    S, Y = (x.gather(1, order[:, :, None].expand_as(x)) for x in (memory.S, memory.Y))
    Z = torch.cat([Y, g.flatten(1)[:, None]], dim=1)
    DZ = memory.inverse[:, None] * Z
    SZ, ZDZ = (S @ Z.mT).double(), (Z @ DZ.mT).double()
    SY, Sg, YDY, YDg = SZ[:, :, :-1], SZ[:, :, -1:], ZDZ[:, :-1, :-1], ZDZ[:, :-1, -1:]
    sy = SY.diagonal(dim1=-2, dim2=-1)  # 0 where there is no pair, else positive
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
    """Move to the trial where it was accepted; keep the pair where it curves upwards, too."""
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
    """Target ← source, for those restarts whose trial was accepted."""
    chosen = accepted.view(-1, *(1 for _ in target.shape[1:]))
    target.copy_(torch.where(chosen, source, target))
