"""The contract of a divergence."""

from __future__ import annotations

from typing import Any, Protocol

OF_TRANSFORM = ("value", "slope", "curvature", "bound")  #: all that `learn_transform` needs
FORMULAS = (*OF_TRANSFORM, "nmf_split")
Entries = Any  # one number, or an array of them: every formula is elementwise


class Divergence(Protocol):
    """Elementwise formulas in the power v, the model v̂ = [WH] + ε and the floor ε.

    One coefficient x has v = x²; channels that share Φ, W and H have v = mean_c x_c², and
    f' x = slope · x holds for each of them. Written with functions of the array API only
    (`phinmf.arrays.namespace`), so that the same lines act on numbers, arrays and tensors.

    A divergence of the form (v+ε)/v̂ + log v̂ - κ (log(v+ε) + 1) with κ = 0 or κ = 1 may say its
    κ as `log_share`: these two the compiled kernels compute. Any other runs on the array engine.
    """

    def value(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """f: what one entry costs."""

    def slope(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """f'(x) / x."""

    def curvature(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """f''(x), exact; may be negative."""

    def bound(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """b(x) ≥ f''(x), never negative."""

    def nmf_split(self, v: Entries, v_hat: Entries, eps: float) -> tuple[Entries, Entries]:
        """P, Q ≥ 0 with ∂f/∂v̂ = Q - P: numerator and denominator of the NMF updates."""
