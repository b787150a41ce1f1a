"""The paper's penalty μ Σ_k ‖w_k‖₁ ‖h_k‖₁, which makes activations sparse."""

from __future__ import annotations

from dataclasses import dataclass

from phinmf import checks
from phinmf._types import Array
from phinmf.arrays import namespace
from phinmf.penalties.base import Penalty


@dataclass(frozen=True)
class Sparse(Penalty):
    """The ℓ₁ norm of the activations, whatever the scale of the columns of W.

    Parameters
    ----------
    weight : float
        μ, the `sparsity` of `tl_nmf`.
    """

    weight: float = 0.0

    compiled = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", checks.number("sparsity", self.weight, 0))

    def on_activations(self, H: Array) -> float:
        """Return μ, the same for every entry."""
        return self.weight

    def on_dictionary(self, activation: Array) -> Array:
        """Return μ(H1)ᵀ."""
        return self.weight * activation

    def cost(self, W: Array, activation: Array) -> float:
        """Return μ Σ_k ‖w_k‖₁ ‖h_k‖₁."""
        return self.weight * float(W.sum(axis=-2, dtype=namespace(W).float64) @ activation)

    def frame_costs(self, H: Array) -> Array:
        """Return μ Σ_k h_kn."""
        return self.weight * namespace(H).sum(H, axis=-2)

    def flat_level(self, powers: Array) -> Array:
        """Return the minimiser of p/s + log s + μs: p if μ = 0, about √(p/μ) if μ is large."""
        return 2 * powers / (1 + namespace(powers).sqrt(1 + 4 * self.weight * powers))
