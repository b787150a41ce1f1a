"""The fit of a TLNMF: from its parameters to restarts, and from results to attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike

from phinmf import arrays, checks
from phinmf._types import AnyArray, Array, Components
from phinmf.estimator import encoding
from phinmf.estimator.callbacks import Task, with_callbacks
from phinmf.fit.advice import advise
from phinmf.fit.automatic import AUTO, FIRST, checked_components
from phinmf.fit.checkpoint import Checkpoint
from phinmf.fit.devices import ComputeDevice
from phinmf.fit.encode import EncodedFrames
from phinmf.fit.initial_factors import fixed_parts
from phinmf.fit.problem import Problem, problem_of
from phinmf.fit.restarts import spawn
from phinmf.fit.verbose import print_end, printed
from phinmf.inits import ArrayInit
from phinmf.result import Result, State


@with_callbacks  # type: ignore[untyped-decorator]
def fit(
    estimator: Any,
    X: AnyArray,
    weights: Array | None,
    activations: ArrayLike | None,
) -> EncodedFrames:
    """Fit a TLNMF to validated frames, and return their encoding."""
    place = ComputeDevice("X", X, estimator.device, estimator.engine)
    with place.computing():
        return fit_here(estimator, place.take(X), place, weights, activations)


def fit_here(
    estimator: Any,
    X: Array,
    place: ComputeDevice,
    weights: Array | None,
    activations: ArrayLike | None,
) -> EncodedFrames:
    """Fit to frames that are on the device, and move what is learned to where `X` was given."""
    n_init = checks.count("n_init", estimator.n_init, 1)
    problem = problem_for(estimator, X, weights, activations)
    advise(problem.data.frames, problem.options)
    task = Task.of_fit(estimator, place.frames, n_init)
    results = restarts(estimator, problem, task, place)
    del problem  # it holds a copy of the frames
    best = min(results, key=lambda result: result.objective)
    learned = attributes(estimator, place.back(best.Phi), place.back(best.W), best.scale)
    for name, value in learned.items():
        setattr(estimator, name, value)
    estimator.n_iter_ = best.n_iter
    estimator.history_ = best.history
    estimator.stop_reason_ = best.status.value
    estimator.converged_ = best.converged
    estimator.n_atoms_, estimator.energy_ = best.n_atoms, best.energy
    estimator.objectives_ = np.array([result.objective for result in results])
    found = encoding.found_back(encoding.encoded(estimator, X, weights), place)
    estimator.reconstruction_err_ = found.divergence
    estimator.objective_ = found.divergence + found.penalty
    estimator.atom_energies_ = found.energies * best.scale**2
    task.end(lambda: learned)
    return found


def problem_for(
    estimator: Any,
    X: Array,
    weights: Array | None,
    activations: ArrayLike | None,
) -> Problem:
    """Return the problem of a fit to these frames, which all restarts share."""
    K = number_for(estimator, activations)
    options, frames = encoding.options_of(estimator), checks.frames(X.T)
    if K == AUTO:
        return problem_of(frames, K, options, fixed=estimator.fixed, sample_weight=weights)
    W: Array = np.zeros((0, X.shape[1]))  # not None: K may be larger than M only if W is given
    H = None
    if estimator.components is not None:
        shape = checks.real_array("components", estimator.components).shape
        n = min(shape[0] if shape else 1, K)
        W = checks.factor("components", estimator.components, (n, X.shape[1]), np.float64)
    if estimator.warm_start and hasattr(estimator, "components_"):
        W = estimator.components_
        H = encoding.encoded(estimator, X).H
        if options.method.anneal is None:
            options = options.with_anneal(None)
        options = replace(options, init=ArrayInit(arrays.like(estimator.transform_matrix_, X)))
    if activations is not None:
        H = arrays.like(checks.factor("activations", activations, (len(X), K), np.float64).T, X)
    return problem_of(
        frames,
        K,
        options,
        W=arrays.like(W.T, X),
        H=H,
        fixed=estimator.fixed,
        sample_weight=weights,
    )


def number_for(estimator: Any, activations: ArrayLike | None) -> Components:
    """Return how many components a fit has, "auto" if they are to be counted.

    A warm start keeps those of the fit before.
    """
    K = checked_components(estimator.n_components)
    if K != AUTO:
        return K
    if estimator.warm_start and hasattr(estimator, "components_"):
        return int(estimator.n_components_)
    given = {"components": estimator.components, "activations": activations}
    for name, factor in given.items():
        if factor is not None:
            raise ValueError(
                f"n_components is 'auto', but {name} is given for a known number of components:"
                " pass that number instead"
            )
    return AUTO


def check_parameters(estimator: Any) -> None:
    """Raise what a fit would raise for these parameters with any frames."""
    e = estimator
    encoding.options_of(e)
    checks.function("callback", e.callback)
    checks.generator(e.random_state)
    K = checked_components(e.n_components)
    checks.count("n_init", e.n_init, 1)
    Checkpoint.of(e.checkpoint)
    fixed_parts(e.fixed, FIRST if K == AUTO else K, has_H=True)


def attributes(estimator: Any, Phi: Array, W: Array, scale: float) -> dict[str, Any]:
    """Return the fitted attributes that `transform` needs, by their names."""
    return {
        "transform_matrix_": Phi,
        "components_": arrays.contiguous(W.T),
        "n_components_": W.shape[1],
        "scale_": scale,
        "floor_": float(estimator.floor) * scale**2,
    }


def restarts(estimator: Any, problem: Problem, task: Task, place: ComputeDevice) -> list[Result]:
    """Fit from `n_init` starts, whose random states are independent."""
    n = estimator.n_init
    callback = checks.function("callback", estimator.callback)
    names = [f"TLNMF, restart {number + 1}" if n > 1 else "TLNMF" for number in range(n)]
    random_states = [estimator.random_state] * n
    if n > 1 and estimator.random_state is not None:
        random_states = spawn(estimator.random_state, n)

    def attributes_at(at: State | Result) -> dict[str, Any]:
        assert at.W is not None
        return attributes(estimator, place.back(at.Phi), place.back(at.W), at.scale)

    tasks: dict[int, Task] = {}

    def began(number: int) -> None:
        max_iter = problem.options.max_iter
        tasks[number] = task.subtask("restart", number, max_iter)

    def watcher(number: int) -> Callable[[State], bool]:
        def watch(state: State) -> bool:
            iteration = tasks[number].subtask("iteration", state.iteration - 1)
            stop = iteration.end(lambda: attributes_at(state))
            return bool(callback is not None and callback(place.for_callback(state))) or stop

        return watch

    def ended(number: int, result: Result) -> None:
        print_end(names[number], result, estimator.verbose)
        tasks[number].end(lambda: attributes_at(result))

    watched = callback is not None or task.has_callbacks
    callbacks = [
        printed(names[number], watcher(number) if watched else None, estimator.verbose)
        for number in range(n)
    ]
    checkpoint = Checkpoint.of(estimator.checkpoint)
    jobs = min(effective_n_jobs(estimator.n_jobs), n)
    return problem.solve(random_states, callbacks, jobs, checkpoint, began, ended)
