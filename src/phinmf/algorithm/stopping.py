"""Reasons to stop a run of Algorithm 1."""

from __future__ import annotations

import numpy as np

from phinmf._types import Precision
from phinmf.algorithm.annealing import Phase
from phinmf.algorithm.options import Options
from phinmf.result import History, Status

ROUNDING = {"float32": 1e-4, "float64": 1e-8}  #: share of an objective that rounding may change


def floor_jumps(history: History, phase: Phase) -> bool:
    """Whether the floor falls to the target at once in the next outer iteration."""
    return phase.at_target and len(history) > 0 and history[-1].floor != phase.floor


def rounding(objective: float, shape: tuple[int, ...], dtype: Precision) -> float:
    """Return how much rounding may raise an objective that is a sum over an array of this shape."""
    entries = float(np.prod(shape, dtype=float))
    return ROUNDING[dtype.name] * abs(objective) + float(np.finfo(dtype).eps) * entries


def rose(history: History, phase: Phase, slack: float) -> bool:
    """Whether the objective rose by more than rounding explains."""
    return history[-1].objective > previous_objective(history, phase) + slack


def reason_to_stop(
    history: History, options: Options, phase: Phase, full_gradient: float | None
) -> Status | None:
    """Return the first reason to stop after an outer iteration, or None.

    `full_gradient` is the scale of the gradient if only the transform is learned, else None.
    """
    row, tol = history[-1], options.tol
    if phase.at_target:
        if full_gradient is not None and row.gradient <= tol * full_gradient:
            return Status.SMALL_GRADIENT
        if previous_objective(history, phase) - row.objective <= tol * abs(row.objective):
            return Status.LINE_SEARCH if row.search_failed else Status.SMALL_DECREASE
    if options.max_time is not None and row.seconds >= options.max_time:
        return Status.MAX_TIME
    return None


def previous_objective(history: History, phase: Phase) -> float:
    """Return the objective that must not be exceeded; infinite if there is none.

    The last one is at another floor if the floor has just reached the target, and there is none if
    the floor has changed otherwise, or the frames, or the atoms. The start is over all atoms.
    """
    if len(history) == 1:
        return history.start if phase.at_target and phase.n_atoms is None else np.inf
    row, previous = history[-1], history[-2]
    if (previous.frames, previous.atoms) != (row.frames, row.atoms):
        return np.inf
    if previous.floor == row.floor:
        return previous.objective
    return previous.target_objective if phase.at_target else np.inf
