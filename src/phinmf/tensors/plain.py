"""The sums over frames for a batch of restarts, by the readable formulas: what the kernels replace.

Shapes are X (B, C, M, N), W (B, M, K), H (B, K, N), WH (B, M, N) and weights (B or 1, N); ε and μ
are tensors of no dimension, so that recorded work sees their present values. κ names the compiled
family of the divergence.
"""

from __future__ import annotations

from phinmf._types import Tensor
from phinmf.algorithm.nmf import normalise, updated_dictionary
from phinmf.divergences import COMPILED, Divergence, Family
from phinmf.engines import sums
from phinmf.engines.sums import power

SPLIT = COMPILED[Family.ITAKURA_SAITO]  #: both families have the same `nmf_split`


def divergence_of(kappa: float) -> Divergence:
    """The divergence of a compiled family."""
    return COMPILED[Family(kappa)]


def loss(X: Tensor, WH: Tensor, weights: Tensor, equal: bool, eps: Tensor, kappa: float) -> Tensor:
    """(B,): weighted sum of f over all entries, in double precision.

    Only the kernels use `equal`, whether all weights are equal.
    """
    return sums.loss(divergence_of(kappa), power(X), WH + eps, eps, weights)


def loss_and_slope(
    X: Tensor, WH: Tensor, weights: Tensor, equal: bool, eps: Tensor, kappa: float, F: Tensor
) -> Tensor:
    """The loss; F receives the weighted f'(x)."""
    d, V, v_hat = divergence_of(kappa), power(X), WH + eps
    F.copy_(sums.slopes(d, X, V, v_hat, eps, weights))
    return sums.loss(d, V, v_hat, eps, weights)


def curvatures(
    X: Tensor, WH: Tensor, weights: Tensor, eps: Tensor, kappa: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The weighted f''(x), its weighted bound b(x), and the power."""
    d, V, v_hat = divergence_of(kappa), power(X), WH + eps
    exact = sums.weighted(d.curvature(V, v_hat, eps), weights)
    return exact, sums.weighted(d.bound(V, v_hat, eps), weights), V


def update_activations(
    X: Tensor, W: Tensor, H: Tensor, mu: Tensor, eps: Tensor, gamma: float
) -> None:
    """H ← H∘[WᵀP/(WᵀQ+μ)]^γ, in place."""
    H.copy_(sums.updated_activations(SPLIT, power(X), W, H, mu, eps, gamma))


def nmf_step(
    X: Tensor, W: Tensor, H: Tensor, weights: Tensor, mu: Tensor, eps: Tensor, gamma: float,
    free: Tensor,
) -> None:  # fmt: skip
    """Step ⋆: update H, then the free columns of W, then normalise both; in place."""
    update_activations(X, W, H, mu, eps, gamma)
    found = sums.dictionary_sums(SPLIT, power(X), W, H, eps, weights)
    updated = updated_dictionary(W, found, mu * found.activation, gamma, free)
    normalised, s = normalise(updated, free)
    W.copy_(normalised)
    H.mul_(s[..., None])
