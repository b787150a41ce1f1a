"""Weights of frames: in a unit to compute with, and costs in the unit of the caller's weights."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays, checks
from phinmf._types import Array
from phinmf.result import Callback, History, State

LARGEST = 1e250  #: sum of weights, which leaves room for what is weighted
COUNTS = 2.0**53  #: largest sum of whole numbers that are exact
ORDINARY = 32  #: powers of two around 1 in which single precision computes with any weight
WEIGHTED = ("objective", "divergence", "penalty", "target_objective", "gradient")  #: of a `Row`


def weights_of(sample_weight: ArrayLike | None, N: int, may_be_zero: bool = False) -> Array | None:
    """Return the weight (N,) of each frame, on the host; None if all are 1.

    A number is the weight of all frames. `may_be_zero`: all of them may be 0.
    """
    if sample_weight is None:
        return None
    weight = arrays.to_numpy(checks.real_array("sample_weight", sample_weight)).astype(np.float64)
    if weight.ndim == 0:
        weight = np.full(N, float(weight))
    if weight.shape != (N,) or (weight < 0).any():
        what = f"shape {weight.shape}" if weight.shape != (N,) else f"a value of {weight.min():g}"
        raise ValueError(
            f"sample_weight has {what}, but one number ≥ 0 for each of the {N} frames is needed"
        )
    if may_be_zero and not weight.any():
        return weight
    if not weight.any():
        raise ValueError("every frame has a weight of zero: there is nothing to learn from")
    if not (weight.max() > 1 / LARGEST and weight.max() < LARGEST / N):
        raise ValueError(
            f"sample_weight reaches {weight.max():.3g}, and weighted sums leave the range of"
            " float64: divide all weights by that"
        )
    return None if (weight == 1).all() else weight


def in_own_unit(weights: Array | None) -> tuple[Array | None, float]:
    """Return weights to compute with, None if all are 1, and the unit to multiply sums by.

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
    """Return a history whose costs are multiplied by a unit."""
    result = History(unit * history.start)
    for row in history:
        scaled = {name: unit * getattr(row, name) for name in WEIGHTED}
        result.rows.append(row._replace(**scaled))
    return result


def in_units(callback: Callback, unit: float, scale: float) -> Callback:
    """Return a callback that gets the scale of the data, and costs in the unit of the weights."""

    def in_unit(state: State) -> object:
        if unit != 1:
            history = weighted(state.history, unit)
            state = replace(state, objective=unit * state.objective, history=history)
        return callback(replace(state, scale=scale))

    return in_unit
