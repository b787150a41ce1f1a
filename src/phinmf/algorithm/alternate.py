"""Algorithm 1 of the paper: alternate between the factors and the transform; when it stops."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from phinmf._types import Precision
from phinmf.algorithm.model import Iterate
from phinmf.algorithm.run import Outcome, Run
from phinmf.result import Callback, State, Status

Save: TypeAlias = Callable[[Run], object]  #: writes a snapshot of a run if it is time for one

LAST_NMF_STEPS = 5  #: at the end of an annealed run, at the target floor
LAST_STEPS_OF_FEW = 15  #: the same if few atoms are learned: the others begin here
ROUNDING = {"float32": 1e-4, "float64": 1e-8}  #: share of an objective that rounding may change


def alternate(run: Run, callback: Callback | None = None, save: Save | None = None) -> Outcome:
    """Run Algorithm 1 from the start, or from the snapshot that the run has resumed.

    `callback` is called after each outer iteration, `save` after those that a run can be continued
    from with the same bits.
    """
    status: Status | None = None
    try:
        for t in range(len(run.history), run.options.max_iter):
            run.begin_iteration(t)  # the floor; the frames, the atoms and the precision in use
            W = run.nmf_step()  # step ⋆: W, and the engine's H
            objective = run.objective(W)  # V̂ = WH is fixed from here
            descent = run.update_transform(objective)  # Φ ← A(V̂, Y, Φ, L)
            finite = run.end_iteration(t, W, descent, objective.evaluations)
            del objective  # it refers to the frames in use, which the next iteration may free
            if not finite:
                status = Status.NOT_FINITE
                break
            status = reason_to_stop(run, callback)
            if status is not None:
                break
            if save is not None and run.is_whole:
                save(run)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    iterate = run.iterate_of_all_atoms()
    run.model = run.whole  # which frees the frames in use
    try:
        return finish(run, iterate, status or Status.MAX_ITER)
    except KeyboardInterrupt:
        return finish(run, iterate, Status.INTERRUPTED)


def reason_to_stop(run: Run, callback: Callback | None) -> Status | None:
    """Return the first reason to stop after an outer iteration, or None."""
    history, options = run.history, run.options
    row = history[-1]
    if row.objective > run.bound + rounding(run, row.objective, row.atoms, run.stage.dtype):
        return Status.ROSE
    if callback is not None:
        iterate = run.iterate_of_all_atoms()
        if callback(State(len(history), row.objective, history, iterate.Phi, iterate.W)):
            return Status.CALLBACK
    if run.phase.final:
        if run.whole.V_hat is not None:  # nothing but Φ is learned: G_ii sums N terms of order 1
            scale = float(run.whole.engine.weights.sum()) * len(run.iterate.Phi) ** 0.5
            if row.gradient <= options.tol * scale:
                return Status.SMALL_GRADIENT
        if run.bound - row.objective <= options.tol * abs(row.objective):
            return Status.LINE_SEARCH if row.search_failed else Status.SMALL_DECREASE
    if options.max_time is not None and row.seconds >= options.max_time:
        return Status.MAX_TIME
    return None


def rounding(run: Run, objective: float, n_atoms: int, dtype: Precision) -> float:
    """Return how much rounding may raise an objective, a weighted sum over all coefficients."""
    entries = run.shape[0] * n_atoms * float(run.whole.engine.weights.sum())
    return ROUNDING[dtype.name] * abs(objective) + float(np.finfo(dtype).eps) * entries


def finish(run: Run, last: Iterate, status: Status) -> Outcome:
    """Evaluate a run on all frames at the target floor; no result is worse than its start.

    A run that is annealed or learns few atoms makes a few NMF steps there. If it is still worse
    than its start, or not finite, the result is the run without these steps, the start with them,
    or the start itself: the first of these that is not worse. The status says so if rounding does
    not explain it.
    """
    start, cost = run.start, run.history.start
    n_iter_nmf = 0
    if run.options.max_iter > 0:
        n_iter_nmf = LAST_NMF_STEPS if run.schedule.anneal is not None else 0
        n_iter_nmf = n_iter_nmf if run.schedule.n_atoms is None else LAST_STEPS_OF_FEW
    ends = [(last, n_iter_nmf)]
    if n_iter_nmf:
        ends += [(last, 0), (start, n_iter_nmf)]
    for iterate, n in ends:
        outcome = run.evaluate(iterate, n, status)
        if outcome.objective <= cost:
            return outcome
    if not outcome.objective <= cost + rounding(run, cost, run.shape[1], run.dtype):
        status = Status.NOT_BETTER
    return run.evaluate(start, 0, status)
