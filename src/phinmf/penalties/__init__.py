"""Costs of the factors beside the divergence.

To add one, subclass `Penalty` in a new file and add the class to `PENALTIES`; an instance is made
from its weight. `Smooth` adds smooth activations to any of them.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from phinmf.penalties.base import Penalty
from phinmf.penalties.smooth import Smooth
from phinmf.penalties.sparse import Sparse

#: Names that the argument ``penalty`` accepts; a penalty is made from its weight.
PENALTIES: dict[str, type[Penalty]] = {"sparse": Sparse}
PenaltyName: TypeAlias = Literal["sparse"]

__all__ = ["PENALTIES", "Penalty", "Smooth", "Sparse", "is_linear"]


def is_linear(penalty: Penalty) -> bool:
    """Whether a unit of any activation costs `frame_rate`, and neighbours nothing.

    The declaration `linear` is verified, because a subclass inherits it even if it overrides a
    formula.
    """
    if type(penalty) is Sparse:
        return True
    if not penalty.linear or penalty.smoothness:
        return False
    totals = np.array([0.0, 1e-3, 0.7, 40.0])
    rates, costs = penalty.rates(totals), [penalty.cost(t) for t in totals[:, None]]
    same = np.allclose(rates, penalty.frame_rate, rtol=1e-12, atol=0)
    return same and np.allclose(costs, penalty.frame_rate * totals, rtol=1e-12, atol=0)
