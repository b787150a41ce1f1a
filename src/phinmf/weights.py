"""Weights of frames in a unit to compute with, and what they weigh back in the unit given."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from phinmf._types import Array
from phinmf.result import History, State

COUNTS = 2.0**53  #: largest sum of whole numbers that are exact
ORDINARY = 32  #: powers of two around 1 in which single precision computes with any weight
WEIGHTED = ("objective", "divergence", "penalty", "target_objective", "gradient")  #: of a `Row`


def in_own_unit(weights: Array | None) -> tuple[Array | None, float]:
    """Weights to compute with, None if all are 1, and the unit to multiply sums by.

    Whole numbers are counts and stay. Of all others only the ratios matter: equal ones are 1, and
    those that single precision cannot hold are divided by a power of two, which is exact.
    """
    if weights is None or ((weights % 1 == 0).all() and weights.sum() < COUNTS):
        return weights, 1.0
    largest = float(weights.max())
    if ((weights == 0) | (weights == largest)).all():
        return (None if weights.all() else weights / largest), largest
    exponent = math.frexp(largest)[1]
    if abs(exponent) <= ORDINARY:
        return weights, 1.0
    return np.ldexp(weights, -exponent), math.ldexp(1.0, exponent)


def weighted(history: History, unit: float) -> History:
    """A history whose costs are multiplied by a unit."""
    result = History(unit * history.start)
    for row in history:
        scaled = {name: unit * getattr(row, name) for name in WEIGHTED}
        result.rows.append(row._replace(**scaled))
    return result


def told_in_unit(
    callback: Callable[[State], Any] | None, unit: float
) -> Callable[[State], Any] | None:
    """A callback that hears of costs in the unit of the weights that were given."""
    if callback is None or unit == 1:
        return callback

    def told(state: State) -> Any:
        history = weighted(state.history, unit)
        return callback(replace(state, objective=unit * state.objective, history=history))

    return told
