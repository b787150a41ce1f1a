"""Gaussian likelihood (Zhang, Soubies, Févotte 2020): (v+ε)/v̂ + log v̂.

This is Itakura–Saito without its term -log(v+ε) - 1. Its loss has no barrier at x = 0, and of the
two it alone can identify Φ from second moments. The term does not depend on v̂, so the updates of W
and H are those of Itakura–Saito.
"""

from __future__ import annotations

from dataclasses import dataclass

from phinmf.arrays import namespace
from phinmf.divergences.base import Divergence, Entries, Family
from phinmf.divergences.itakura_saito import split


@dataclass(frozen=True)
class Gaussian(Divergence):
    """Minus twice the log-likelihood of coefficients with variance v̂, up to a constant."""

    family = Family.GAUSSIAN

    def value(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """f(x) = (x²+ε)/v̂ + log v̂."""
        return (v + eps) / v_hat + namespace(v_hat).log(v_hat)

    def slope(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """f'(x)/x = 2/v̂."""
        return 2 / v_hat

    def curvature(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """f''(x) = 2/v̂."""
        return 2 / v_hat

    def bound(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """b(x) = f''(x), which is never negative here."""
        return 2 / v_hat

    def nmf_split(self, v: Entries, v_hat: Entries, eps: float) -> tuple[Entries, Entries]:
        """P and Q as for Itakura–Saito: the two differ by a function of the data alone."""
        return split(v, v_hat, eps)
