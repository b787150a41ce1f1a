"""Step ⋆ of Algorithm 1: multiplicative updates of H and W, then the joint normalisation."""

from __future__ import annotations

from typing import NamedTuple

from phinmf._types import Array, Indices
from phinmf.arrays import namespace
from phinmf.divergences import Penalty
from phinmf.divergences.base import multiply
from phinmf.engines import Engine

ACTIVATIONS = 10  #: updates of activations of frames that have none


class FixedFactors(NamedTuple):
    """The factors that an NMF step does not change."""

    columns: Indices | None = None  #: of W, on its device
    H: Array | None = None  #: all activations; then W is not normalised


NONE = FixedFactors()


def nmf_step(
    engine: Engine, W: Array, penalty: Penalty, eps: float, gamma: float, fixed: FixedFactors = NONE
) -> Array:
    """H ← H∘[WᵀP/(WᵀQ+μ)]^γ, then W ← W∘[PHᵀ/(QHᵀ+μ1(H1)ᵀ)]^γ; the objective never rises."""
    xp, free = namespace(W), None
    if fixed.columns is not None:
        free = xp.ones_like(W[0], dtype=xp.bool)
        free[fixed.columns] = False
    sums = engine.nmf_pass(W, penalty, eps, gamma if fixed.H is None else 0.0)
    denominator = sums.denominator + penalty.sparsity * sums.activation
    updated = multiply(W, sums.numerator, denominator, gamma)
    W = updated if free is None else xp.where(free, updated, W)
    if fixed.H is not None:
        return W
    W, s = normalise(W, free)
    engine.scale_activations(s)
    return W


def normalise(W: Array, free: Array | None = None) -> tuple[Array, Array]:
    """Return W with columns of sum 1, and the factors s by which H is scaled to keep WH.

    If `free` (K,) says which columns may change, the others do not.
    """
    xp, s = namespace(W), W.sum(axis=0)
    unchanged = s == 0  # a column of zeros
    if free is not None:
        unchanged = unchanged | xp.logical_not(free)
    s = xp.where(unchanged, xp.ones_like(s), s)
    return W / s, s


def flat_activations(powers: Array, M: int, K: int, penalty: Penalty) -> Array:
    """Return the flat start of H (K, N): the best constant model of each frame.

    For a frame of mean power p, Itakura–Saito is least for the s that minimises p/s + log s + μs:
    p if μ = 0, about √(p/μ) if μ is large. H is a view of N numbers, and sent to shards as these.
    """
    xp = namespace(powers)
    s = 2 * powers / (1 + xp.sqrt(1 + 4 * penalty.sparsity * powers))
    flat: Array = xp.broadcast_to(s * (M / max(K, 1)), (K, len(powers)))
    return flat


def activate(engine: Engine, W: Array, penalty: Penalty, eps: float) -> None:
    """Compute activations for a W: from the flat start, a few updates of H alone."""
    H = flat_activations(engine.powers(), len(W), W.shape[1], penalty)
    engine.set_activations(H)
    for _ in range(ACTIVATIONS if W.shape[1] else 0):
        engine.nmf_pass(W, penalty, eps, engine.divergence.max_exponent)
