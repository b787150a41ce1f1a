"""Algorithm 1 of the paper: alternate between the factors and the transform."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from phinmf.algorithm.annealing import Phase, Schedule
from phinmf.algorithm.group import Final, Group, Restart, Snapshot, stage_of
from phinmf.algorithm.model import Iterate
from phinmf.algorithm.options import Options
from phinmf.algorithm.stopping import floor_jumps, reason_to_stop, rose, rounding
from phinmf.result import History, Row, State, Status

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


@dataclass
class Run:
    """One execution of Algorithm 1 for one restart."""

    restart: Restart
    history: History
    last: Iterate  #: the start; after the run has ended, its last iterate
    status: Status | None = None  #: why it ended; None while it runs


def alternate(
    group: Group, restarts: Sequence[Restart], options: Options, schedule: Schedule
) -> list[Outcome]:
    """Run Algorithm 1 for every restart of a group, from its start or from its checkpoint.

    All restarts have made the same number of outer iterations before.
    """
    costs = group.begin(restarts)
    runs = [begun(restart, cost) for restart, cost in zip(restarts, costs, strict=True)]
    clock = Clock(options.max_time, runs)
    status = Status.MAX_ITER
    try:
        for t in range(len(runs[0].history), options.max_iter):
            phase = schedule.at(t, clock.seconds())
            group.open(phase)  # floor, frames, atoms, precision
            if floor_jumps(runs[group.running[0]].history, phase):
                group.forget()
            more = MORE_NMF_STEPS if phase.high else 1
            group.nmf(more * options.n_iter_nmf, clock.is_up)  # step ⋆: W and H
            group.descend(options.n_iter_transform, clock.is_up)  # Φ ← A(V̂, Y, Φ, L), V̂ = WH
            refreshed = t % REFRESH == REFRESH - 1
            if refreshed:
                group.refresh()
            record(group, runs, phase, schedule, clock)
            stop(group, runs, phase, options)
            if not group.running:
                break
            if refreshed or options.solver is None:  # X = ΦY: Φ, W and H are the whole state
                keep(group, runs)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    for number, run in enumerate(runs):
        if run.status is None:
            run.last, run.status = group.iterate(number), status
    if status is Status.INTERRUPTED:
        runs[-1].status = status  # also if all had just ended
    group.close()
    try:
        return finish(group, runs, options, schedule)
    except KeyboardInterrupt:
        runs[-1].status = Status.INTERRUPTED
        return finish(group, runs, options, schedule)


class Clock:
    """Seconds since the runs of a group began, including those before they were resumed.

    If these differ, the largest counts.
    """

    def __init__(self, limit: float | None, runs: Sequence[Run]) -> None:
        before = max(run.history[-1].seconds if len(run.history) else 0.0 for run in runs)
        self.limit = limit
        self.start = time.perf_counter() - before

    def seconds(self) -> float:
        """Return the seconds until now."""
        return time.perf_counter() - self.start

    def is_up(self) -> bool:
        """Whether `max_time` has passed."""
        return self.limit is not None and self.seconds() >= self.limit


def begun(restart: Restart, cost: float) -> Run:
    """Return a run at its start, which costs `cost`, or at its checkpoint."""
    at = restart.resumed
    if at is None:
        return Run(restart, History(cost), restart.start)
    return Run(restart, at.history, at.position.last)


def record(
    group: Group, runs: Sequence[Run], phase: Phase, schedule: Schedule, clock: Clock
) -> None:
    """Add a row to the history of every running restart."""
    measured = group.measure()
    seconds = clock.seconds()
    complete = phase.n_atoms == schedule.n_atoms
    for number, found in zip(group.running, measured, strict=True):
        history = runs[number].history
        evaluations = found.evaluations + (history[-1].evaluations if len(history) else 0)
        history.rows.append(
            Row(
                objective=found.divergence + found.penalty,
                divergence=found.divergence,
                penalty=found.penalty,
                target_objective=found.target_objective if complete else history.start,
                gradient=found.gradient,
                steps=found.steps,
                search_failed=found.search_failed,
                evaluations=evaluations,
                frames=found.frames,
                atoms=found.atoms,
                seconds=seconds,
                floor=phase.floor,
            )
        )


def stop(group: Group, runs: Sequence[Run], phase: Phase, options: Options) -> None:
    """End every restart that has a reason to stop."""
    dtype = stage_of(phase, group.dtype).dtype
    for number in group.running:
        run, history = runs[number], runs[number].history
        shape = (group.shape[0], history[-1].atoms, history[-1].frames)
        reason: Status | None
        if not np.isfinite(history[-1].objective):
            reason = Status.NOT_FINITE
            history.rows.pop()  # `iterate` is the one before
        elif rose(history, phase, rounding(history[-1].objective, shape, dtype)):
            reason = Status.ROSE
        elif run.restart.callback is not None and run.restart.callback(
            state_of(group, number, run)
        ):
            reason = Status.CALLBACK
        else:
            reason = reason_to_stop(history, options, phase, group.full_gradient)
        if reason is not None:
            run.last, run.status = group.iterate(number), reason
    ended = [number for number in group.running if runs[number].status is not None]
    if ended:
        group.drop(ended)


def state_of(group: Group, number: int, run: Run) -> State:
    """Return the argument of a callback."""
    at, history = group.iterate(number), run.history
    return State(len(history), history[-1].objective, history, at.Phi, at.W)


def keep(group: Group, runs: Sequence[Run]) -> None:
    """Write checkpoints of all running restarts, at the same iteration, if one of them is due."""
    kept = [(n, runs[n], runs[n].restart.keep) for n in group.running]
    if any(keeper is not None and keeper.due() for _, _, keeper in kept):
        for number, run, keeper in kept:
            if keeper is not None:
                at = group.position(number)
                keeper.write(Snapshot(run.restart.start, run.history, at))


def finish(
    group: Group, runs: Sequence[Run], options: Options, schedule: Schedule
) -> list[Outcome]:
    """Evaluate every restart on all frames at the target floor; no result is worse than its start.

    A run that is annealed or learns few atoms makes a few NMF steps there. If it is still worse
    than its start, or not finite, the result is the run without these steps, the start with them,
    or the start itself: the first of these that is not worse.
    """
    n_iter_nmf = 0
    if options.max_iter > 0:
        n_iter_nmf = LAST_NMF_STEPS if schedule.anneal is not None else 0
        n_iter_nmf = n_iter_nmf if schedule.n_atoms is None else LAST_STEPS_OF_FEW
    lasts, starts = [run.last for run in runs], [run.restart.start for run in runs]
    found = group.finish(lasts, n_iter_nmf)
    if n_iter_nmf:
        replace_worse(group, found, runs, lasts, 0)
        replace_worse(group, found, runs, starts, n_iter_nmf)
    failed = far_worse(group, found, runs)
    replace_worse(group, found, runs, starts, 0)
    outcomes = []
    for run, (last, divergence, penalty), lost in zip(runs, found, failed, strict=True):
        assert run.status is not None
        status = Status.NOT_BETTER if lost else run.status
        outcomes.append(Outcome(last, run.history, status, divergence, penalty))
    return outcomes


def replace_worse(
    group: Group, found: list[Final], runs: Sequence[Run], by: Sequence[Iterate], n_iter_nmf: int
) -> None:
    """Replace every restart that is worse than its start by an iterate after some NMF steps."""
    worse = [i for i, run in enumerate(runs) if not found[i].objective <= run.history.start]
    if worse:
        instead = group.finish([by[i] for i in worse], n_iter_nmf)
        for i, final in zip(worse, instead, strict=True):
            found[i] = final


def far_worse(group: Group, found: Sequence[Final], runs: Sequence[Run]) -> list[bool]:
    """Return whether each restart is worse than its start by more than rounding explains."""
    before = [run.history.start for run in runs]
    slack = [rounding(start, group.shape, group.dtype) for start in before]
    costs = (final.objective for final in found)
    return [not c <= b + s for c, b, s in zip(costs, before, slack, strict=True)]
