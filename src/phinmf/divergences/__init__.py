"""Measures of fit between the power of the transformed frames and its factorisation.

To add one, write a module with the functions of `Divergence` and name it in `DIVERGENCES`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phinmf.divergences import gaussian, itakura_saito
from phinmf.divergences.base import FORMULAS, OF_TRANSFORM, Divergence

__all__ = ["DIVERGENCES", "FORMULAS", "OF_TRANSFORM", "Divergence", "is_compiled"]

DIVERGENCES: dict[str, Divergence] = {
    "itakura-saito": itakura_saito,
    "gaussian": gaussian,
}


def is_compiled(divergence: Any) -> bool:
    """Whether the kernels of the blocked engine and of `lockstep` compute this divergence.

    They compute κ = 0 and κ = 1. What says so is tried at a few entries, because kernels know
    nothing of its formulas but their κ.
    """
    kappa = getattr(divergence, "log_share", None)
    entries = np.array([0.0, 1e-3, 0.7, 40.0]), np.array([2.0, 1e-2, 0.3, 7.0]), 1e-2
    for known in (itakura_saito, gaussian):
        if isinstance(kappa, (int, float)) and kappa == known.log_share:
            return divergence is known or all(
                np.allclose(getattr(divergence, f)(*entries), getattr(known, f)(*entries), 1e-12)
                for f in FORMULAS
            )
    return False
