"""Algorithm 1 of the paper: alternate between the factors and the transform."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from phinmf._types import Array
from phinmf.algorithm.annealing import Schedule, Setting
from phinmf.algorithm.model import Iterate, Model, Sample, draw
from phinmf.algorithm.nmf import penalty
from phinmf.arrays import dtype_of, namespace
from phinmf.engines import Objective
from phinmf.linalg.manifold import polish, skew
from phinmf.result import History, Row, State, Status
from phinmf.solvers import Descent, Solver

Callback = Callable[[State], Any]

REFRESH = 5  #: outer iterations after which Φ is polished and X made afresh from it
MORE_NMF_STEPS = 3  #: times as many while the floor is high, where they pay and few frames serve
LAST_NMF_STEPS = 5  #: at the target floor, whatever ends an annealed run
ROUNDING = {"float32": 1e-4, "float64": 1e-8}  #: share of an objective that rounding may change


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


class Outcome(NamedTuple):
    """A run at its end, at the target floor on all frames."""

    last: Iterate
    history: History
    status: Status
    divergence: float
    penalty: float


def alternate(whole: Model, start: Iterate, run: Settings, at: Progress | None = None) -> Outcome:
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

    def out_of_time() -> bool:
        return run.max_time is not None and time.perf_counter() - clock >= run.max_time

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
            W = here.nmf(at.last.W, now.floor, run.nmf_exponent, n_iter_nmf, out_of_time)
            objective = here.objective(W, now.floor)  # V_hat = WH is fixed from here
            objective.out_of_time = out_of_time
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
            slack = rounding(cost, here.engine.shape, here.engine.dtype)
            reason = reason_to_stop(history, at.last, run, now, slack, flat_below)
            if reason is not None:
                status = reason
                break
            if fresh and run.keep is not None:  # X = ΦY here: Φ, W and H say it all
                run.keep(at)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    here = whole  # let go of the frames of the last stage
    last, costs, better = settle(whole, at.start, at.last, run, history.start)
    return Outcome(last, history, status if better else Status.NOT_BETTER, *costs)


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


def settle(
    whole: Model, start: Iterate, last: Iterate, run: Settings, before: float
) -> tuple[Iterate, tuple[float, float], bool]:
    """Go back to all frames at the target floor; the engine stands where the result says.

    An annealed run takes a few NMF steps there, from its start if it was cut short and is worse.
    Whatever has happened, a result is not worse than the start: then that is the result. Returns
    the divergence and the penalty, too, and whether there was any need to give everything up.
    """
    target = run.schedule.target
    annealed = run.schedule.anneal is not None and run.max_iter > 0
    for origin in (last, start) if annealed else (last,):
        at = whole.restore(origin, target)
        W = whole.nmf(at.W, target, run.nmf_exponent, LAST_NMF_STEPS if annealed else 0)
        divergence, sparsity = whole.costs(W, target)
        if divergence + sparsity <= before:
            return Iterate(at.Phi, W, whole.engine.activations()), (divergence, sparsity), True
    slack = rounding(before, whole.engine.shape, whole.engine.dtype)
    at = whole.restore(start, target)
    return at, whole.costs(at.W, target), divergence + sparsity <= before + slack


def rounding(objective: float, shape: tuple[int, ...], dtype: np.dtype[Any]) -> float:
    """By how much an objective may rise without anything being wrong."""
    entries = float(np.prod(shape, dtype=float))
    return ROUNDING[dtype.name] * abs(objective) + float(np.finfo(dtype).eps) * entries


def reason_to_stop(
    history: History,
    last: Iterate,
    run: Settings,
    now: Setting,
    slack: float,
    flat_below: float = -1.0,
) -> Status | None:
    """The first reason to stop after an outer iteration, if there is one.

    A gradient of at most `flat_below` is one where nothing but the transform is learned. At one
    floor on the same frames an objective that rises by more than the slack, or is not a number,
    is an error.
    """
    row, before = history[-1], before_last(history, now)
    if not row.objective <= before + slack:
        return Status.ROSE
    if run.callback is not None:
        seen = State(len(history), row.objective, history, last.Phi, last.W, run.scale)
        if run.callback(seen):
            return Status.CALLBACK
    if now.settled:
        if row.gradient <= flat_below:
            return Status.SMALL_GRADIENT
        if before - row.objective <= run.tol * abs(row.objective):
            return Status.LINE_SEARCH if row.search_failed else Status.SMALL_DECREASE
    if run.max_time is not None and row.seconds >= run.max_time:
        return Status.MAX_TIME
    return None


def before_last(history: History, now: Setting) -> float:
    """The objective that the last one must not exceed; infinite if the floor or frames changed."""
    if len(history) == 1:
        return history.start if now.settled else np.inf
    row, previous = history[-1], history[-2]
    same = (previous.floor, previous.frames) == (row.floor, row.frames)
    return previous.objective if same else np.inf
