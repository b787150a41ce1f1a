"""Algorithm 1 of the paper: alternate between the factors and the transform."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from phinmf._types import Array
from phinmf.engines import Engine, Objective
from phinmf.manifold import polish, skew
from phinmf.nmf import nmf_step, penalty
from phinmf.result import History, Row, State, Status
from phinmf.solvers import Descent, Solver

Callback = Callable[[State], Any]


@dataclass(frozen=True)
class Settings:
    """Every number that Algorithm 1 needs, at unit power."""

    solver: Solver | None
    mu: float
    floor: float
    nmf_exponent: float
    n_iter_nmf: int
    n_iter_transform: int
    max_iter: int
    max_time: float | None
    tol: float
    callback: Callback | None


@dataclass(frozen=True)
class Iterate:
    """Φ, W and H at the end of an outer iteration: complete, whatever interrupts the next one."""

    Phi: Array
    W: Array
    H: Array


def alternate(
    engine: Engine, start: Iterate, run: Settings, V_hat: Array | None = None
) -> tuple[Iterate, History, Status]:
    """Run Algorithm 1 until something ends it; with V̂ given, only its transform steps."""
    clock = time.perf_counter()
    eps = run.floor
    last = start
    restore(engine, last)
    before = model(engine, start.W, eps, V_hat).at().loss + penalty(engine, start.W, run.mu)
    history, memory, evaluations = History(before), None, 1
    try:
        for _ in range(run.max_iter):
            W = last.W
            if V_hat is None:
                for _ in range(run.n_iter_nmf):
                    W = nmf_step(engine, W, run.mu, eps, run.nmf_exponent)  # step ⋆
            objective = model(engine, W, eps, V_hat)  # V_hat = WH is fixed from here
            step = transform_step(run, last.Phi, objective, memory)  # Phi <- A(V_hat, Y, Phi, L)
            memory = step.memory
            last = Iterate(polish(step.Phi, engine.algebra), W, engine.activations())
            engine.rotate(last.Phi)

            evaluations += objective.evaluations
            sparsity = penalty(engine, W, run.mu)
            history.rows.append(
                Row(
                    objective=step.loss + sparsity,
                    divergence=step.loss,
                    penalty=sparsity,
                    gradient=float(np.linalg.norm(skew(step.G))),
                    steps=tuple(step.steps),
                    search_failed=step.failed,
                    evaluations=evaluations,
                    seconds=time.perf_counter() - clock,
                    floor=eps,
                )
            )
            status = reason_to_stop(history, last, run, engine.shape, fixed_model=V_hat is not None)
            if status is not None:
                return last, history, status
        return last, history, Status.MAX_ITER
    except KeyboardInterrupt:
        return last, history, Status.INTERRUPTED


def restore(engine: Engine, iterate: Iterate) -> None:
    """Put the engine where an iterate says."""
    engine.rotate(iterate.Phi)
    engine.set_activations(iterate.H)


def model(engine: Engine, W: Array, eps: float, V_hat: Array | None) -> Objective:
    """L(Φ) of (3) for the current factors, or for the given V̂."""
    return engine.objective(W, eps) if V_hat is None else engine.objective_of(V_hat, eps)


def transform_step(run: Settings, Phi: Array, objective: Objective, memory: Any) -> Descent:
    """Update Φ by the solver; without one, only measure where we are."""
    if run.solver is None:
        return Descent.start(Phi, objective)
    return run.solver.update(Phi, objective, run.n_iter_transform, memory)


def reason_to_stop(
    history: History, last: Iterate, run: Settings, shape: tuple[int, int, int], fixed_model: bool
) -> Status | None:
    """The first reason to stop after an outer iteration, if there is one."""
    row = history[-1]
    if run.callback is not None:
        seen = State(len(history), row.objective, history, last.Phi, last.W)
        if run.callback(seen):
            return Status.CALLBACK
    _, M, N = shape
    if fixed_model and row.gradient <= run.tol * N * np.sqrt(M):  # G_ii sums N terms of order 1
        return Status.SMALL_GRADIENT
    before = history[-2].objective if len(history) > 1 else history.start
    if before - row.objective <= run.tol * abs(row.objective):
        return Status.LINE_SEARCH if row.search_failed else Status.SMALL_DECREASE
    if run.max_time is not None and row.seconds >= run.max_time:
        return Status.MAX_TIME
    return None
