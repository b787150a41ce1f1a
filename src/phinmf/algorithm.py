"""Algorithm 1 of the paper: alternate between the factors and the transform."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from phinmf._types import Array
from phinmf.annealing import Schedule, Setting
from phinmf.arrays import dtype_of, namespace
from phinmf.engines import Objective
from phinmf.manifold import polish, skew
from phinmf.model import Iterate, Model, Sample, draw
from phinmf.nmf import penalty
from phinmf.result import History, Row, State, Status
from phinmf.solvers import Descent, Solver

Callback = Callable[[State], Any]

REFRESH = 5  #: outer iterations after which Φ is polished and X made afresh from it
MORE_NMF_STEPS = 3  #: times as many while the floor is high, where they pay and few frames serve
LAST_NMF_STEPS = 5  #: at the target floor, whatever ends an annealed run


@dataclass(frozen=True)
class Settings:
    """Every number that Algorithm 1 needs, at unit power."""

    solver: Solver | None
    schedule: Schedule
    mu: float
    nmf_exponent: float
    n_iter_nmf: int
    n_iter_transform: int
    max_iter: int
    max_time: float | None
    tol: float
    callback: Callback | None
    rng: np.random.Generator  #: draws the sample of frames
    scale: float = 1.0  #: root mean square of the data, for callbacks to know
    keep: Callable[[Progress], Any] | None = None  #: writes checkpoints


@dataclass
class Progress:
    """All that a run is between two outer iterations; a checkpoint holds it."""

    start: Iterate  #: than which the result may not be worse
    last: Iterate
    history: History
    memory: Any = None  #: of the solver
    sample: Sample | None = None  #: the frames in use, if not all
    stage: Stage | None = None


def alternate(
    whole: Model, start: Iterate, run: Settings, at: Progress | None = None
) -> tuple[Iterate, History, Status]:
    """Run Algorithm 1, from the start or from where an earlier run was, until something ends it.

    With V̂ given, only its transform steps.
    """
    target = run.schedule.target
    if at is None:
        last = whole.restore(start, target)
        at = Progress(start, last, History(whole.cost(start.W, target)))
    else:
        here = whole.part(at.sample, dtype_of(at.last.Phi))
        here.stand_at(at.last)
    history, status = at.history, Status.MAX_ITER
    flat_below = -1.0
    if whole.V_hat is not None:  # G_ii: N terms of order 1
        flat_below = run.tol * float(whole.engine.weights.sum()) * whole.engine.shape[1] ** 0.5
    clock = time.perf_counter() - (history[-1].seconds if len(history) else 0.0)
    try:
        for t in range(len(history), run.max_iter):
            now = run.schedule.at(t, time.perf_counter() - clock)
            if at.stage != stage_of(now, run, whole.engine.dtype):
                at.stage = stage_of(now, run, whole.engine.dtype)
                n = at.stage.n_frames
                at.sample = None if n is None else draw(whole.engine.weights, n, run.rng)
                here = whole.part(at.sample, at.stage.dtype)
                at.last = here.restore(at.last, now.floor)
            n_iter_nmf = run.n_iter_nmf * (MORE_NMF_STEPS if now.high else 1)
            W = here.nmf(at.last.W, now.floor, run.nmf_exponent, n_iter_nmf)
            objective = here.objective(W, now.floor)  # V_hat = WH is fixed from here
            # Phi <- A(V_hat, Y, Phi, L)
            step = transform_step(run, at.last.Phi, objective, at.memory)
            Phi, fresh = step.Phi, run.solver is None
            if run.solver is not None and t % REFRESH == REFRESH - 1:
                Phi, fresh = polish(Phi, here.engine.algebra), True
                here.engine.rotate(Phi)
            at.last, at.memory = Iterate(Phi, W, here.engine.activations()), step.memory

            evaluations = objective.evaluations + (history[-1].evaluations if len(history) else 0)
            del objective  # it holds on to the frames of this stage
            sparsity = penalty(here.engine, W, run.mu)
            cost = step.loss + sparsity
            history.rows.append(
                Row(
                    objective=cost,
                    divergence=step.loss,
                    penalty=sparsity,
                    target_objective=cost if now.settled else here.cost(W, target),
                    gradient=float(namespace(step.G).linalg.norm(skew(step.G))),
                    steps=tuple(step.steps),
                    search_failed=step.failed,
                    evaluations=evaluations,
                    frames=here.engine.shape[2],
                    seconds=time.perf_counter() - clock,
                    floor=now.floor,
                )
            )
            reason = reason_to_stop(history, at.last, run, now, flat_below)
            if reason is not None:
                status = reason
                break
            if fresh and run.keep is not None:  # X = ΦY here: Φ, W and H say it all
                run.keep(at)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    here = whole  # let go of the frames of the last stage
    return settle(whole, at.start, at.last, run, history.start), history, status


class Stage(NamedTuple):
    """How many frames an outer iteration works on, if not all, and in which precision."""

    n_frames: int | None
    dtype: np.dtype[Any]


def stage_of(now: Setting, run: Settings, dtype: np.dtype[Any]) -> Stage:
    """The stage that a setting belongs to, for data of some precision."""
    n = run.schedule.sample_size if now.high else None
    return Stage(n, np.dtype(np.float32) if now.single else dtype)


def transform_step(run: Settings, Phi: Array, objective: Objective, memory: Any) -> Descent:
    """Update Φ by the solver; without one, only measure where we are."""
    if run.solver is None:
        unknown = namespace(Phi).full_like(Phi[:1, :1], np.nan)
        return Descent(Phi, objective.loss(), unknown)
    return run.solver.update(Phi, objective, run.n_iter_transform, memory)


def settle(whole: Model, start: Iterate, last: Iterate, run: Settings, before: float) -> Iterate:
    """Go back to all frames at the target floor; the engine stands where the result says.

    An annealed run takes a few NMF steps there, and if cut short may not be worse than its start.
    """
    target = run.schedule.target
    at = whole.restore(last, target)
    if not run.schedule.anneal or run.max_iter == 0:
        return at
    W = whole.nmf(at.W, target, run.nmf_exponent, LAST_NMF_STEPS)
    if whole.cost(W, target) > before:
        at = whole.restore(start, target)
        W = whole.nmf(at.W, target, run.nmf_exponent, LAST_NMF_STEPS)
    return Iterate(at.Phi, W, whole.engine.activations())


def reason_to_stop(
    history: History,
    last: Iterate,
    run: Settings,
    now: Setting,
    flat_below: float = -1.0,
) -> Status | None:
    """The first reason to stop after an outer iteration, if there is one.

    A gradient of at most `flat_below` is one where nothing but the transform is learned.
    """
    row = history[-1]
    if run.callback is not None:
        seen = State(len(history), row.objective, history, last.Phi, last.W, run.scale)
        if run.callback(seen):
            return Status.CALLBACK
    if now.settled:
        if row.gradient <= flat_below:
            return Status.SMALL_GRADIENT
        if len(history) == 1:
            before = history.start
        else:  # the first iteration at the target floor has nothing to be compared with
            before = history[-2].objective if history[-2].floor == row.floor else np.inf
        if before - row.objective <= run.tol * abs(row.objective):
            return Status.LINE_SEARCH if row.search_failed else Status.SMALL_DECREASE
    if run.max_time is not None and row.seconds >= run.max_time:
        return Status.MAX_TIME
    return None
