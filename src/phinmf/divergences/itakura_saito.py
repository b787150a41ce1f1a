"""Itakura–Saito: d(a|b) = a/b - log(a/b) - 1 with a = v + ε and b = v̂, the paper's choice."""

from __future__ import annotations

from dataclasses import dataclass

from phinmf.arrays import namespace
from phinmf.divergences.base import Divergence, Entries, Family


@dataclass(frozen=True)
class ItakuraSaito(Divergence):
    """Compare powers by their ratio: a factor costs the same at every level.

    Examples
    --------
    >>> from phinmf.divergences import ItakuraSaito
    >>> float(ItakuraSaito().value(2.0, 2.5, 0.5))
    0.0
    """

    family = Family.ITAKURA_SAITO

    def value(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """f(x) = (x²+ε)/v̂ - log((x²+ε)/v̂) - 1, the summand of (3)."""
        ratio = (v + eps) / v_hat
        return ratio - namespace(ratio).log(ratio) - 1

    def slope(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """f'(x)/x = 2 (1/v̂ - 1/(x²+ε)), as in (8)."""
        return 2 * (1 / v_hat - 1 / (v + eps))

    def curvature(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """f''(x) = 2/v̂ + 2 (x²-ε)/(x²+ε)², as in (9); negative near x = 0."""
        inverse = 1 / (v + eps)
        return 2 / v_hat + 2 * (v - eps) * inverse * inverse

    def bound(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """b(x) = 2 (1/v̂ + 1/(x²+ε)), which is (12) at ε = 0."""
        return 2 * (1 / v_hat + 1 / (v + eps))

    def nmf_split(self, v: Entries, v_hat: Entries, eps: float) -> tuple[Entries, Entries]:
        """P = (v+ε)/v̂² and Q = 1/v̂ of the multiplicative updates (§2.2)."""
        return split(v, v_hat, eps)


def split(v: Entries, v_hat: Entries, eps: float) -> tuple[Entries, Entries]:
    """P and Q of every divergence that depends on v̂ as (v+ε)/v̂ + log v̂ does."""
    Q = 1 / v_hat
    return (v + eps) * Q * Q, Q
