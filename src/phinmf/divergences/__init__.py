"""Measures of fit between the power of transformed frames and its factorisation, and the penalty.

To add one, subclass `Divergence` in a new file and add an instance to `DIVERGENCES`.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from phinmf.divergences.base import Divergence, Family
from phinmf.divergences.beta import Beta
from phinmf.divergences.gaussian import Gaussian
from phinmf.divergences.itakura_saito import ItakuraSaito
from phinmf.divergences.penalty import Penalty

__all__ = [
    "COMPILED",
    "DIVERGENCES",
    "Beta",
    "Divergence",
    "Family",
    "Gaussian",
    "ItakuraSaito",
    "Penalty",
    "compiled_family",
    "is_compiled",
]

#: Names that the argument ``divergence`` accepts.
DIVERGENCES: dict[str, Divergence] = {
    "itakura-saito": ItakuraSaito(),
    "gaussian": Gaussian(),
    "kullback-leibler": Beta(1.0),
    "euclidean": Beta(2.0),
}
DivergenceName: TypeAlias = Literal["itakura-saito", "gaussian", "kullback-leibler", "euclidean"]

#: One divergence of each family that has kernels.
COMPILED: dict[Family, Divergence] = {
    Family.ITAKURA_SAITO: ItakuraSaito(),
    Family.GAUSSIAN: Gaussian(),
    Family.KULLBACK_LEIBLER: Beta(1.0),
    Family.EUCLIDEAN: Beta(2.0),
    Family.SQUARE_ROOT: Beta(0.5),
}


def compiled_family(divergence: Divergence) -> Family | None:
    """Return the family whose kernels compute this divergence, or None if there is none.

    A declared family is not simply believed, because a subclass inherits the declaration even if
    it overrides a formula: all formulas are compared with those of the family at a few entries.
    """
    for family, known in COMPILED.items():
        if divergence.family is family:
            same = divergence == known or _same_formulas(divergence, known)
            return family if same else None
    return None


def is_compiled(divergence: Divergence) -> bool:
    """Whether the kernels of the compiled engine and of the tensors compute this divergence."""
    return compiled_family(divergence) is not None


def _same_formulas(a: Divergence, b: Divergence) -> bool:
    """Whether two divergences agree at a few entries, up to rounding."""
    entries = np.array([0.0, 1e-3, 0.7, 40.0]), np.array([2.0, 1e-2, 0.3, 7.0]), 1e-2
    formulas = ("value", "slope", "curvature", "bound", "nmf_split")
    return a.has_nmf_split and all(
        np.allclose(getattr(a, f)(*entries), getattr(b, f)(*entries), 1e-12) for f in formulas
    )
