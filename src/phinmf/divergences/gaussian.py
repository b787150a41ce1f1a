"""Gaussian likelihood (Zhang, Soubies, Févotte 2020): (v+ε)/v̂ + log v̂.

Itakura–Saito without its -log(v+ε): no walls at x = 0, and the only one of the two that can
identify Φ from second moments. The factors see no difference, so the NMF split is shared.
"""

from __future__ import annotations

from phinmf.arrays import namespace
from phinmf.divergences.base import Entries
from phinmf.divergences.itakura_saito import nmf_split

__all__ = ["bound", "curvature", "log_share", "nmf_split", "slope", "value"]

log_share = 0.0  #: of log(v+ε) + 1: none


def value(v: Entries, v_hat: Entries, eps: float) -> Entries:
    """f(x) = (x²+ε)/v̂ + log v̂."""
    return (v + eps) / v_hat + namespace(v_hat).log(v_hat)


def slope(v: Entries, v_hat: Entries, eps: float) -> Entries:
    """f'(x)/x = 2/v̂."""
    return 2 / v_hat


def curvature(v: Entries, v_hat: Entries, eps: float) -> Entries:
    """f''(x) = 2/v̂."""
    return 2 / v_hat


def bound(v: Entries, v_hat: Entries, eps: float) -> Entries:
    """F'' is its own bound."""
    return 2 / v_hat
