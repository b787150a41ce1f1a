"""Costs of the factors beside the divergence.

To add one, subclass `Penalty` in a new file and add the class to `PENALTIES`; an instance is made
from its weight.
"""

from __future__ import annotations

import numpy as np

from phinmf._types import Array
from phinmf.penalties.base import Penalty
from phinmf.penalties.sparse import Sparse

PENALTIES: dict[str, type[Penalty]] = {"sparse": Sparse}

__all__ = ["PENALTIES", "Penalty", "Sparse", "is_compiled"]


def is_compiled(penalty: Penalty) -> bool:
    """Whether the kernels compute this penalty: the sparse one with its weight.

    The declaration `compiled` is verified, because a subclass inherits it even if it overrides a
    formula: all formulas are compared with those of `Sparse` at a few entries.
    """
    if not penalty.compiled or type(penalty) is Sparse:
        return penalty.compiled
    W, H = np.array([[0.3, 0.9], [0.7, 0.1]]), np.array([[1.0, 0.2, 7.0], [0.0, 3.0, 0.5]])
    sums, powers, known = H.sum(axis=1), np.array([0.0, 1e-3, 40.0]), Sparse(penalty.weight)

    def formulas(one: Penalty) -> list[Array | float]:
        by_H, by_W = one.on_activations(H), one.on_dictionary(sums)
        return [by_H, by_W, one.cost(W, sums), one.frame_costs(H), one.flat_level(powers)]

    pairs = zip(formulas(penalty), formulas(known), strict=True)
    return all(np.allclose(ours, theirs, rtol=1e-12, atol=0) for ours, theirs in pairs)
