"""The multiplicative update of a nonnegative factor."""

from __future__ import annotations

from phinmf._types import Array
from phinmf.arrays import divided, namespace

LEAST = 1e-20  #: positive entries stay above this, so that they can grow again at a lower floor


def multiply(F: Array, numerator: Array, denominator: Array, gamma: float) -> Array:
    """F ∘ [numerator / denominator]^γ of §2.2, where 0/0 is 1.

    γ = ½ is majorisation–minimisation, γ = 1 majorisation–equalisation: neither raises the cost.
    """
    xp = namespace(F)
    ratio = divided(numerator, denominator, xp.ones_like(F))
    return xp.maximum(F * (ratio if gamma == 1 else ratio**gamma), F.clip(max=LEAST))
