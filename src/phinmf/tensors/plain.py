"""The sums over frames for a batch of restarts, by the readable formulas.

The fused kernels compute the same. Shapes are X (B, C, M, N), W (B, M, K), H (B, K, N),
WH (B, M, N) and weights (B or 1, N); ε and μ are tensors without dimensions, so that replayed work
uses their current values.
"""

from __future__ import annotations

from phinmf._types import Tensor
from phinmf.algorithm.nmf import normalise, updated_dictionary
from phinmf.divergences import COMPILED, Family
from phinmf.engines import sums
from phinmf.engines.sums import power


def loss(
    X: Tensor, WH: Tensor, weights: Tensor, equal: bool, eps: Tensor, family: Family
) -> Tensor:
    """Return the weighted sum of f over all entries of each restart (B,), in double precision.

    Only the fused kernels use `equal`: whether all weights are equal.
    """
    return sums.loss(COMPILED[family], power(X), WH + eps, eps, weights)


def loss_and_slope(
    X: Tensor, WH: Tensor, weights: Tensor, equal: bool, eps: Tensor, family: Family, F: Tensor
) -> Tensor:
    """Return the loss and write the weighted f'(x) to F."""
    d, V, v_hat = COMPILED[family], power(X), WH + eps
    F.copy_(sums.slopes(d, X, V, v_hat, eps, weights))
    return sums.loss(d, V, v_hat, eps, weights)


def curvatures(
    X: Tensor, WH: Tensor, weights: Tensor, eps: Tensor, family: Family
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the weighted f''(x), its weighted bound b(x), and the power."""
    d, V, v_hat = COMPILED[family], power(X), WH + eps
    exact = sums.weighted(d.curvature(V, v_hat, eps), weights)
    return exact, sums.weighted(d.bound(V, v_hat, eps), weights), V


def update_activations(
    X: Tensor, W: Tensor, H: Tensor, mu: Tensor, eps: Tensor, gamma: float, family: Family
) -> None:
    """Update H ← H∘[WᵀP/(WᵀQ+μ)]^γ in place."""
    H.copy_(sums.updated_activations(COMPILED[family], power(X), W, H, mu, eps, gamma))


def nmf_step(
    X: Tensor, W: Tensor, H: Tensor, weights: Tensor, mu: Tensor, eps: Tensor, gamma: float,
    family: Family, free: Tensor,
) -> None:  # fmt: skip
    """Step ⋆ in place: update H, then the free columns of W, then normalise both."""
    update_activations(X, W, H, mu, eps, gamma, family)
    found = sums.dictionary_sums(COMPILED[family], power(X), W, H, eps, weights)
    updated = updated_dictionary(W, found, mu * found.activation, gamma, free)
    normalised, s = normalise(updated, free)
    W.copy_(normalised)
    H.mul_(s[..., None])
