"""Measures of fit between the power of transformed frames and its factorisation, and the penalty.

To add one, subclass `Divergence` in a new file and add an instance to `DIVERGENCES`.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from phinmf.divergences.base import Divergence, Family
from phinmf.divergences.beta import Beta
from phinmf.divergences.itakura_saito import Gaussian, ItakuraSaito
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
]

#: Names that the argument ``divergence`` accepts.
DIVERGENCES: dict[str, Divergence] = {
    "itakura-saito": ItakuraSaito(),
    "gaussian": Gaussian(),
    "kullback-leibler": Beta(1.0),
    "euclidean": Beta(2.0),
}
DivergenceName: TypeAlias = Literal["itakura-saito", "gaussian", "kullback-leibler", "euclidean"]

#: The divergence of each family that has kernels.
COMPILED: dict[Family, Divergence] = {
    Family.ITAKURA_SAITO: ItakuraSaito(),
    Family.GAUSSIAN: Gaussian(),
    Family.KULLBACK_LEIBLER: Beta(1.0),
    Family.EUCLIDEAN: Beta(2.0),
    Family.SQUARE_ROOT: Beta(0.5),
}


def compiled_family(divergence: Divergence) -> Family | None:
    """Return the family whose kernels compute this divergence, or None if there is none.

    Divergences are equal if their classes and their fields are: a subclass, which may override a
    formula, is not compiled.
    """
    for family, same in COMPILED.items():
        if divergence == same:
            return family
    return Family.ITAKURA_SAITO if divergence == Beta(0.0) else None
