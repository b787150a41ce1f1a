"""Algorithm 1 of the paper: alternate between the factors and the transform."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from phinmf._types import Array
from phinmf.annealing import Schedule, Setting
from phinmf.engines import Engine, Objective
from phinmf.manifold import exactly_orthogonal, polish, skew
from phinmf.nmf import activate, nmf_step, penalty
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


@dataclass(frozen=True)
class Iterate:
    """Φ, W and H at the end of an outer iteration: complete, whatever interrupts the next one."""

    Phi: Array
    W: Array
    H: Array


class Model:
    """Frames, or a sample of them, with the factors or the given V̂ that model their power."""

    def __init__(self, engine: Engine, mu: float, V_hat: Array | None) -> None:
        self.engine = engine
        self.mu = mu
        self.V_hat = V_hat

    def part(self, n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> Model:
        """The same on n frames drawn at random, in another precision; itself if that is no change.

        While a part works, the whole rests.
        """
        N = self.engine.shape[2]
        if n == N and dtype == self.engine.dtype:
            return self
        self.engine.rest()
        frames = slice(None) if n == N else np.sort(rng.choice(N, n, replace=False))
        V_hat = self.V_hat
        if V_hat is not None:
            V_hat = np.asfortranarray(V_hat[:, frames], dtype=dtype)
        return Model(self.engine.subset(frames, dtype), self.mu, V_hat)

    def objective(self, W: Array, eps: float) -> Objective:
        """L(Φ) of (3)."""
        if self.V_hat is None:
            return self.engine.objective(W, eps)
        return self.engine.objective_of(self.V_hat, eps)

    def cost(self, W: Array, eps: float) -> float:
        """C(Φ, W, H) of (2)."""
        return self.objective(W, eps).loss() + penalty(self.engine, W, self.mu)

    def nmf(self, W: Array, eps: float, gamma: float, n_iter: int) -> Array:
        """Update the factors, if they are free."""
        for _ in range(n_iter if self.V_hat is None else 0):
            W = nmf_step(self.engine, W, self.mu, eps, gamma)  # step ⋆
        return W

    def restore(self, at: Iterate, eps: float) -> Iterate:
        """Go to an iterate, made orthogonal; frames without activations get them from W."""
        dtype = self.engine.dtype
        Phi = exactly_orthogonal(at.Phi, dtype, self.engine.algebra)
        W = at.W.astype(dtype)
        self.engine.rotate(Phi)
        if at.H.shape[1] == self.engine.shape[2]:
            self.engine.set_activations(at.H)
        else:
            activate(self.engine, W, self.mu, eps)
        return Iterate(Phi, W, self.engine.activations())


def alternate(
    engine: Engine, start: Iterate, run: Settings, V_hat: Array | None = None
) -> tuple[Iterate, History, Status]:
    """Run Algorithm 1 until something ends it; with V̂ given, only its transform steps."""
    clock = time.perf_counter()
    target = run.schedule.target
    whole = here = Model(engine, run.mu, V_hat)
    last = whole.restore(start, target)
    history = History(whole.cost(start.W, target))
    status, memory, evaluations = Status.MAX_ITER, None, 0
    staged: tuple[int, np.dtype[Any]] | None = None
    try:
        for t in range(run.max_iter):
            now = run.schedule.at(t, time.perf_counter() - clock)
            if staged != stage(now, run, engine):
                staged = stage(now, run, engine)
                here = whole.part(*staged, run.rng)
                last = here.restore(last, now.floor)
            n_iter_nmf = run.n_iter_nmf * (MORE_NMF_STEPS if now.high else 1)
            W = here.nmf(last.W, now.floor, run.nmf_exponent, n_iter_nmf)
            objective = here.objective(W, now.floor)  # V_hat = WH is fixed from here
            step = transform_step(run, last.Phi, objective, memory)  # Phi <- A(V_hat, Y, Phi, L)
            Phi, memory = step.Phi, step.memory
            if run.solver is not None and t % REFRESH == REFRESH - 1:
                Phi = polish(Phi, here.engine.algebra)
                here.engine.rotate(Phi)
            last = Iterate(Phi, W, here.engine.activations())

            evaluations += objective.evaluations
            del objective  # it holds on to the frames of this stage
            sparsity = penalty(here.engine, W, run.mu)
            cost = step.loss + sparsity
            history.rows.append(
                Row(
                    objective=cost,
                    divergence=step.loss,
                    penalty=sparsity,
                    target_objective=cost if now.settled else here.cost(W, target),
                    gradient=float(np.linalg.norm(skew(step.G))),
                    steps=tuple(step.steps),
                    search_failed=step.failed,
                    evaluations=evaluations,
                    frames=here.engine.shape[2],
                    seconds=time.perf_counter() - clock,
                    floor=now.floor,
                )
            )
            reason = reason_to_stop(history, last, run, now, engine.shape, V_hat is not None)
            if reason is not None:
                status = reason
                break
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    here = whole  # let go of the frames of the last stage
    return settle(whole, start, last, run, history.start), history, status


def stage(now: Setting, run: Settings, engine: Engine) -> tuple[int, np.dtype[Any]]:
    """How many frames a setting works on, and in which precision."""
    n = run.schedule.sample_size if now.high else engine.shape[2]
    return n, np.dtype(np.float32) if now.single else engine.dtype


def transform_step(run: Settings, Phi: Array, objective: Objective, memory: Any) -> Descent:
    """Update Φ by the solver; without one, only measure where we are."""
    if run.solver is None:
        return Descent(Phi, objective.loss(), np.full_like(Phi, np.nan))
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
    shape: tuple[int, int, int],
    fixed_model: bool,
) -> Status | None:
    """The first reason to stop after an outer iteration, if there is one."""
    row = history[-1]
    if run.callback is not None:
        seen = State(len(history), row.objective, history, last.Phi, last.W)
        if run.callback(seen):
            return Status.CALLBACK
    if now.settled:
        _, M, N = shape
        if fixed_model and row.gradient <= run.tol * N * np.sqrt(M):  # G_ii: N terms of order 1
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
