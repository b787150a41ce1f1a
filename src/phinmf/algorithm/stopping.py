"""Reasons to stop a run of Algorithm 1."""

from __future__ import annotations

import numpy as np

from phinmf._types import Precision
from phinmf.algorithm.run import Run
from phinmf.result import Callback, State, Status

ROUNDING = {"float32": 1e-4, "float64": 1e-8}  #: share of an objective that rounding may change


def reason_to_stop(run: Run, callback: Callback | None) -> Status | None:
    """Return the first reason to stop after an outer iteration, or None."""
    history, options = run.history, run.options
    row, previous = history[-1], previous_objective(run)
    shape = (run.shape[0], row.atoms, row.frames)
    if row.objective > previous + rounding(row.objective, shape, run.stage.dtype):
        return Status.ROSE
    if callback is not None:
        iterate = run.iterate_of_all_atoms()
        if callback(State(len(history), row.objective, history, iterate.Phi, iterate.W)):
            return Status.CALLBACK
    if run.phase.final:
        scale = run.gradient_scale
        if scale is not None and row.gradient <= options.tol * scale:
            return Status.SMALL_GRADIENT
        if previous - row.objective <= options.tol * abs(row.objective):
            return Status.LINE_SEARCH if row.search_failed else Status.SMALL_DECREASE
    if options.max_time is not None and row.seconds >= options.max_time:
        return Status.MAX_TIME
    return None


def rounding(objective: float, shape: tuple[int, ...], dtype: Precision) -> float:
    """Return how much rounding may raise an objective that is a sum over an array of this shape."""
    entries = float(np.prod(shape, dtype=float))
    return ROUNDING[dtype.name] * abs(objective) + float(np.finfo(dtype).eps) * entries


def previous_objective(run: Run) -> float:
    """Return the objective that must not be exceeded; infinite if there is none.

    There is none if the frames or the atoms in use have changed, or if the floor has, unless it
    has just reached the target, where the objective before is known, too. The start is over all
    frames and atoms at the target floor.
    """
    history, final = run.history, run.phase.final
    if len(history) == 1:
        return history.start if final and run.stage.n_atoms is None else np.inf
    if not run.comparable:
        return np.inf
    row, previous = history[-1], history[-2]
    if previous.floor == row.floor:
        return previous.objective
    return previous.target_objective if final else np.inf
