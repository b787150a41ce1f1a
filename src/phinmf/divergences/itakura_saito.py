"""Itakura–Saito, the paper's choice, and the Gaussian likelihood; a = v + ε and b = v̂.

Itakura–Saito is d(a|b) = a/b - log(a/b) - 1. The Gaussian likelihood (Zhang, Soubies, Févotte 2020)
is a/b + log b, without the term -log a - 1. Its loss has no barrier at x = 0, and of the two it
alone can identify Φ from second moments. The term does not depend on v̂, so the updates of W and H
are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from phinmf.arrays import namespace
from phinmf.divergences.base import Divergence, Entries


@dataclass(frozen=True)
class ItakuraSaito(Divergence):
    """Compare powers by their ratio: a factor costs the same at every level.

    Examples
    --------
    >>> from phinmf.divergences import ItakuraSaito
    >>> float(ItakuraSaito().value(2.0, 2.5, 0.5))
    0.0
    """

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


@dataclass(frozen=True)
class Gaussian(Divergence):
    """Minus twice the log-likelihood of coefficients with variance v̂, up to a constant."""

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
        """P and Q as for Itakura–Saito."""
        return split(v, v_hat, eps)


def split(v: Entries, v_hat: Entries, eps: float) -> tuple[Entries, Entries]:
    """P and Q of a divergence that depends on v̂ as (v+ε)/v̂ + log v̂ does."""
    Q = 1 / v_hat
    return (v + eps) * Q * Q, Q
