"""Step ⋆ of Algorithm 1: multiplicative updates of H and W, then the joint normalisation."""

from __future__ import annotations

from typing import NamedTuple

from phinmf._types import Array, Indices
from phinmf.arrays import namespace
from phinmf.engines import Engine
from phinmf.linalg.multiplicative import multiply


class Kept(NamedTuple):
    """What an NMF step leaves as it is."""

    columns: Indices | None = None  #: of W, to index where it is
    H: Array | None = None  #: all activations; W then carries the scale and is not normalised


def nmf_step(
    engine: Engine, W: Array, mu: float, eps: float, gamma: float, kept: Kept | None = None
) -> Array:
    """H ← H∘[WᵀP/(WᵀQ+μ)]^γ, then W ← W∘[PHᵀ/(QHᵀ+μ1(H1)ᵀ)]^γ; the objective never rises."""
    kept = kept or Kept()
    sums = engine.nmf_pass(W, mu, eps, gamma if kept.H is None else 0.0)
    before = W
    W = multiply(W, sums.numerator, sums.denominator + mu * sums.activation[..., None, :], gamma)
    if kept.columns is not None:
        W[..., kept.columns] = before[..., kept.columns]
    if kept.H is not None:
        return W
    W, s = normalise(W, kept.columns)
    engine.scale_activations(s)
    return W


def normalise(W: Array, kept: Indices | None = None) -> tuple[Array, Array]:
    """Columns of W that sum to 1, and the factors s that H must take so that WH is unchanged."""
    s = W.sum(axis=-2)
    s[s == 0] = 1  # a column of zeros has no shape to keep
    if kept is not None:
        s[..., kept] = 1
    return W / s[..., None, :], s


def penalty(engine: Engine, W: Array, mu: float) -> float:
    """μ Σ_k ‖w_k‖₁ ‖h_k‖₁."""
    double = namespace(W).float64
    return mu * float(W.sum(axis=-2, dtype=double) @ engine.activation_sums())


def flat_activations(powers: Array, M: int, K: int, mu: float) -> Array:
    """Start H: each frame's best constant v̂ = s, shared by the components.

    s minimises p/s + log s + μs for a frame of mean power p: it depends on that frame alone, is
    p itself without sparsity and about √(p/μ) under a strong one.
    """
    xp = namespace(powers)
    s = 2 * powers / (1 + xp.sqrt(1 + 4 * mu * powers))
    return xp.tile(s * (M / max(K, 1)), (K, 1))


def activate(engine: Engine, W: Array, mu: float, eps: float, n_iter: int = 10) -> None:
    """Give the engine activations for a known W: from the flat start, a few updates of H alone."""
    H = flat_activations(engine.powers(), len(W), W.shape[1], mu)
    engine.set_activations(H)
    for _ in range(n_iter if W.shape[1] else 0):
        engine.nmf_pass(W, mu, eps, gamma=1.0)
