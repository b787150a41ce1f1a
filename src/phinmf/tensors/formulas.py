"""The sums over frames, for a batch of restarts: plain PyTorch, which the fused kernels follow.

Shapes are X (B, C, M, N), W (B, M, K), H (B, K, N), WH (B, M, N) and weights (B or 1, N); ε and μ
are tensors of no dimension. Both divergences belong to one family, (v+ε)/v̂ + log v̂ - κ (log(v+ε)
+ 1): the readable formulas stand in `phinmf.divergences`, and these are tested against them.
"""

from __future__ import annotations

import torch

from phinmf._types import Tensor
from phinmf.linalg.multiplicative import LEAST


def power(X: Tensor) -> Tensor:
    """V = mean_c x_c²."""
    return X.square().mean(dim=1)


def loss(X: Tensor, WH: Tensor, weights: Tensor, equal: bool, eps: Tensor, kappa: float) -> Tensor:
    """Weighted sum of f over all entries, of each restart, in double precision.

    Whether weights are `equal` is for those to know who can make use of it.
    """
    a, v_hat = power(X) + eps, WH + eps
    values = a / v_hat + v_hat.log() - kappa * (a.log() + 1)
    return (values.sum(dim=1, dtype=torch.float64) * weights).sum(dim=1)


def loss_and_slope(
    X: Tensor, WH: Tensor, weights: Tensor, equal: bool, eps: Tensor, kappa: float, F: Tensor
) -> Tensor:
    """The loss; F receives the weighted f'(x)."""
    a, v_hat = power(X) + eps, WH + eps
    slope = 2 * (1 / v_hat - kappa / a) * weights[:, None].to(X.dtype)
    torch.mul(slope[:, None], X, out=F)
    return loss(X, WH, weights, equal, eps, kappa)


def curvatures(
    X: Tensor, WH: Tensor, weights: Tensor, eps: Tensor, kappa: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The weighted f''(x), its weighted bound b(x), and the power."""
    v = power(X)
    inverse, of_a = 1 / (WH + eps), 1 / (v + eps)
    twice = 2 * weights[:, None].to(X.dtype)
    exact = twice * (inverse + kappa * (v - eps) * of_a * of_a)
    return exact, twice * (inverse + kappa * of_a), v


def split(V: Tensor, WH: Tensor, eps: Tensor) -> tuple[Tensor, Tensor]:
    """P = (v+ε)/v̂² and Q = 1/v̂."""
    Q = 1 / (WH + eps)
    return (V + eps) * Q * Q, Q


def update_activations(
    X: Tensor, W: Tensor, H: Tensor, mu: Tensor, eps: Tensor, gamma: float
) -> None:
    """H ← H∘[WᵀP/(WᵀQ+μ)]^γ, in place."""
    P, Q = split(power(X), W @ H, eps)
    multiply(H, W.mT @ P, W.mT @ Q + mu, gamma)


def nmf_step(
    X: Tensor, W: Tensor, H: Tensor, weights: Tensor, mu: Tensor, eps: Tensor, gamma: float,
    free: Tensor,
) -> None:  # fmt: skip
    """Step ⋆: update H, then the free columns of W, then normalise both."""
    update_activations(X, W, H, mu, eps, gamma)
    P, Q = split(power(X), W @ H, eps)
    weighted = (H * weights[:, None].to(H.dtype)).mT
    pressure = mu * (H * weights[:, None]).sum(dim=2)[:, None]
    before = W.clone()
    multiply(W, P @ weighted, (Q @ weighted + pressure).to(W.dtype), gamma)
    W.copy_(torch.where(free, W, before))
    s = W.sum(dim=1, keepdim=True)
    s = torch.where((s == 0) | ~free, 1, s)
    W.div_(s)
    H.mul_(s.mT)


def multiply(F: Tensor, numerator: Tensor, denominator: Tensor, gamma: float) -> None:
    """F ← F∘[numerator/denominator]^γ in place, where 0/0 is 1; positive factors stay positive."""
    ratio = torch.where(denominator > 0, numerator / denominator, 1)
    torch.maximum(F * (ratio if gamma == 1 else ratio**gamma), F.clamp(max=LEAST), out=F)
