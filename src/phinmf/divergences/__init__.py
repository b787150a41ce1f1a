"""Measures of fit between the power of the transformed frames and its factorisation.

To add one, write a module with the functions of `Divergence` and name it in `DIVERGENCES`.
"""

from phinmf.divergences import gaussian, itakura_saito
from phinmf.divergences.base import Divergence

DIVERGENCES: dict[str, Divergence] = {
    "itakura-saito": itakura_saito,
    "gaussian": gaussian,
}

__all__ = ["DIVERGENCES", "Divergence"]
