"""Algorithm 1 of the paper: alternate between the factors and the transform."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from phinmf.algorithm.annealing import Phase, Schedule
from phinmf.algorithm.model import Iterate
from phinmf.algorithm.restart import Callback, Restart, Snapshot
from phinmf.algorithm.run import Run
from phinmf.algorithm.stopping import floor_jumps, reason_to_stop, rose, rounding
from phinmf.result import History, State, Status

REFRESH = 5  #: outer iterations after which Φ is made orthogonal again and X computed from it
MORE_NMF_STEPS = 3  #: factor while the floor is high: steps on few frames are cheap and pay off
LAST_NMF_STEPS = 5  #: at the end of an annealed run, at the target floor
LAST_STEPS_OF_FEW = 15  #: the same if few atoms are learned: the others begin here


class Outcome(NamedTuple):
    """Where a run ended, on all frames at the target floor, and why."""

    last: Iterate
    history: History
    status: Status
    divergence: float
    penalty: float


def alternate(run: Run, restart: Restart, schedule: Schedule) -> Outcome:
    """Run Algorithm 1 from a start, or from a checkpoint."""
    options = run.options
    history = run.begin(restart)
    clock = Clock(options.max_time, history)
    status = Status.MAX_ITER
    try:
        for t in range(len(history), options.max_iter):
            phase = schedule.phase(t, clock.seconds())
            run.open(phase)  # floor, frames, atoms, precision
            if floor_jumps(history, phase):
                run.forget()
            n_iter_nmf = options.n_iter_nmf * (MORE_NMF_STEPS if phase.high else 1)
            W = run.nmf(n_iter_nmf, clock.is_up)  # step ⋆: W, and the engine's H
            objective = run.objective(W, clock.is_up)  # V̂ = WH is fixed from here
            step = run.update(W, objective)  # Φ ← A(V̂, Y, Φ, L)
            refreshed = t % REFRESH == REFRESH - 1
            if refreshed:
                run.refresh()
            row = run.measure(W, step, objective.evaluations)
            if phase.n_atoms != schedule.n_atoms:  # not comparable: the start is over all atoms
                row = row._replace(target_objective=history.start)
            if not np.isfinite(row.objective):
                status = Status.NOT_FINITE
                break
            history.record(row, clock.seconds())
            reason = reason_to_end(run, history, phase, restart.callback)
            if reason is not None:
                status = reason
                break
            if refreshed or options.solver is None:  # X = ΦY: Φ, W and H are the whole state
                save(run, restart, history)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    last = run.iterate()
    run.close()
    try:
        return finish(run, restart.start, last, history, status, schedule)
    except KeyboardInterrupt:
        return finish(run, restart.start, last, history, Status.INTERRUPTED, schedule)


class Clock:
    """Seconds since a run began, including those before it was resumed."""

    def __init__(self, limit: float | None, history: History) -> None:
        before = history[-1].seconds if len(history) else 0.0
        self.limit = limit
        self.start = time.perf_counter() - before

    def seconds(self) -> float:
        """Return the seconds until now."""
        return time.perf_counter() - self.start

    def is_up(self) -> bool:
        """Whether `max_time` has passed."""
        return self.limit is not None and self.seconds() >= self.limit


def reason_to_end(
    run: Run, history: History, phase: Phase, callback: Callback | None
) -> Status | None:
    """Return the first reason to end a run after an outer iteration, or None."""
    row = history[-1]
    shape = (run.shape[0], row.atoms, row.frames)
    if rose(history, phase, rounding(row.objective, shape, run.stage.dtype)):
        return Status.ROSE
    if callback is not None:
        iterate = run.iterate()
        if callback(State(len(history), row.objective, history, iterate.Phi, iterate.W)):
            return Status.CALLBACK
    return reason_to_stop(history, run.options, phase, run.full_gradient)


def save(run: Run, restart: Restart, history: History) -> None:
    """Write a checkpoint if one is due."""
    writer = restart.checkpoint
    if writer is not None and writer.due():
        writer.write(Snapshot(history, run.position()))


def finish(
    run: Run, start: Iterate, last: Iterate, history: History, status: Status, schedule: Schedule
) -> Outcome:
    """Evaluate a run on all frames at the target floor; no result is worse than its start.

    A run that is annealed or learns few atoms makes a few NMF steps there. If it is still worse
    than its start, or not finite, the result is the run without these steps, the start with them,
    or the start itself: the first of these that is not worse. The status says so if rounding does
    not explain it.
    """
    n_iter_nmf = 0
    if run.options.max_iter > 0:
        n_iter_nmf = LAST_NMF_STEPS if schedule.anneal is not None else 0
        n_iter_nmf = n_iter_nmf if schedule.n_atoms is None else LAST_STEPS_OF_FEW
    ends = [(last, n_iter_nmf)]
    if n_iter_nmf:
        ends += [(last, 0), (start, n_iter_nmf)]
    for iterate, n in ends:
        final = run.finish(iterate, n)
        if final.objective <= history.start:
            break
    if not final.objective <= history.start + rounding(history.start, run.shape, run.dtype):
        status = Status.NOT_BETTER
    if not final.objective <= history.start:
        final = run.finish(start, 0)
    return Outcome(final.iterate, history, status, final.divergence, final.penalty)
