"""The pairs of L-BFGS for a batch of restarts, in the compact form of Byrd, Nocedal & Schnabel.

The same direction as the two loops of `phinmf.solvers.lbfgs`, from two products with all pairs at
once and a triangular system as small as the memory. Matrices are held whole: every inner product
counts a pair of atoms twice, which cancels.
"""

from __future__ import annotations

from typing import Any

import torch

Tensor = torch.Tensor


class Memory:
    """Steps and changes of the gradient, the newest last; empty places are zero."""

    def __init__(self, B: int, size: int, M: int, dtype: torch.dtype, device: torch.device) -> None:
        self.S = torch.zeros(B, size, M * M, dtype=dtype, device=device)
        self.Y = torch.zeros_like(self.S)
        self.inverse = torch.zeros(B, M, M, dtype=dtype, device=device)  # of the metric
        self.eye = torch.eye(size, dtype=dtype, device=device)

    def take_over(self, other: Memory, places: Any = slice(None)) -> None:
        """Remember what some restarts of another memory do."""
        self.S.copy_(other.S[places])
        self.Y.copy_(other.Y[places])
        self.inverse.copy_(other.inverse[places])

    def set_metric(self, curvature: Tensor) -> None:
        """Weigh by the curvature of each pair; 0 where that is 0."""
        positive = curvature > 0
        self.inverse.copy_(torch.where(positive, 1 / curvature, 0))

    def direction(self, g: Tensor) -> tuple[Tensor, Tensor]:
        """Inverse-Hessian approximation times g, and how many pairs it rests on."""
        S, Y, g = self.S, self.Y, g.flatten(1)[:, None]
        inverse = self.inverse.flatten(1)[:, None]
        Z = torch.cat([Y, g], dim=1)
        DZ = inverse * Z
        SZ, ZDZ = S @ Z.mT, Z @ DZ.mT
        SY, Sg, YDY, YDg = SZ[:, :, :-1], SZ[:, :, -1:], ZDZ[:, :-1, :-1], ZDZ[:, :-1, -1:]
        sy = SY.diagonal(dim1=-2, dim2=-1)  # 0 where there is no pair, else positive
        yDy = YDY[:, -1, -1]
        gamma = torch.where((sy[:, -1] > 0) & (yDy > 0), sy[:, -1] / yDy, 1)[:, None, None]
        R = torch.triu(SY) + self.eye * (sy == 0)[:, None]
        u = torch.linalg.solve_triangular(R, Sg, upper=True)
        inside = sy[:, :, None] * u + gamma * (YDY @ u - YDg)
        p = torch.linalg.solve_triangular(R.mT, inside, upper=False)
        weights = torch.cat([-gamma * u, gamma], dim=1)
        r = p.mT @ S + weights.mT @ DZ
        M = self.inverse.shape[-1]
        return r.view(-1, M, M), (sy != 0).sum(dim=1)

    def push(self, s: Tensor, y: Tensor, accepted: Tensor) -> None:
        """Remember a pair where it was accepted and curves upwards."""
        s, y = s.flatten(1), y.flatten(1)
        take = (accepted & ((s * y).sum(dim=1) > 0))[:, None, None]
        for kept, new in ((self.S, s), (self.Y, y)):
            moved = torch.cat([kept[:, 1:], new[:, None]], dim=1)
            kept.copy_(torch.where(take, moved, kept))

    def clear(self, which: Tensor) -> None:
        """Forget the pairs of some restarts."""
        for kept in (self.S, self.Y):
            kept.mul_(~which[:, None, None])
