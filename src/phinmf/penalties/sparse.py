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

    linear = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", checks.number("sparsity", self.weight, 0))

    def cost(self, totals: Array) -> Array:
        """Return μ Σ_k ‖w_k‖₁ ‖h_k‖₁."""
        return self.weight * namespace(totals).sum(totals)

    def rates(self, totals: Array) -> Array:
        """Return μ for every component."""
        return namespace(totals).full_like(totals, self.weight)
