"""The fit of a TLNMF: from its parameters to restarts, and from results to attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike

from phinmf import arrays, checks
from phinmf._types import AnyArray, Array, Components, RandomState
from phinmf.estimator import encoding
from phinmf.estimator.parameters import Parameters
from phinmf.fit.advice import advise
from phinmf.fit.automatic import AUTO, checked_components
from phinmf.fit.checkpoint import Checkpoint
from phinmf.fit.devices import ComputeDevice
from phinmf.fit.encode import EncodedFrames
from phinmf.fit.problem import Problem, problem_of
from phinmf.fit.restarts import print_end, printed
from phinmf.inits import ArrayInit
from phinmf.result import Callback, Result, State

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """A base class without methods."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method unchanged."""
        return method


Attributes = Callable[[], dict[str, object]]


class Task:
    """A task that callbacks are called for: the fit, a restart or an outer iteration."""

    def __init__(self, estimator: Parameters, X: AnyArray, context: Any) -> None:
        self.estimator = estimator
        self.X = X
        self.context = context
        if context is not None:
            context.call_on_fit_task_begin(estimator=estimator, X=X, y=X)

    @property
    def has_callbacks(self) -> bool:
        """Whether any callback is registered."""
        return self.context is not None and bool(getattr(self.context, "_callbacks", True))

    @classmethod
    def of_fit(cls, estimator: Parameters, X: AnyArray, n_subtasks: int) -> Task:
        """Begin the task of a whole fit."""
        context = None
        if hasattr(estimator, "_init_callback_context"):
            context = estimator._init_callback_context(
                max_subtasks=n_subtasks, sequential_subtasks=False
            )
        return cls(estimator, X, context)

    def subtask(self, name: str, number: int, n_subtasks: int = 0) -> Task:
        """Begin a subtask."""
        context = None
        if self.context is not None:
            context = self.context.subcontext(
                name, task_id=number, max_subtasks=n_subtasks, sequential_subtasks=False
            )
        return Task(self.estimator, self.X, context)

    def end(self, attributes: Attributes | None = None) -> bool:
        """Call the callbacks at the end of the task; return True if one asks the fit to stop."""
        if self.context is None:
            return False
        return bool(
            self.context.call_on_fit_task_end(
                estimator=self.estimator,
                X=self.X,
                y=self.X,  # without a target, callbacks compute no score
                reconstruction_attributes=attributes,
            )
        )


@with_callbacks  # type: ignore[untyped-decorator]
def fit(
    estimator: Parameters, X: AnyArray, weights: Array | None, activations: ArrayLike | None
) -> EncodedFrames:
    """Fit a TLNMF to validated frames (N, M), and return their encoding where `X` is."""
    device = ComputeDevice("X", X, estimator.device, estimator.engine)
    with device.computing():
        return fit_on_device(estimator, device.take(X), device, weights, activations)


def fit_on_device(
    estimator: Parameters,
    X: Array,
    device: ComputeDevice,
    weights: Array | None,
    activations: ArrayLike | None,
) -> EncodedFrames:
    """Fit to frames that are on the device, and move what is learned to where they came from."""
    e, n_init = estimator, checks.count("n_init", estimator.n_init, 1)
    problem = problem_for(e, X, weights, activations)
    advise(problem.data.frames, problem.options)
    task = Task.of_fit(e, device.frames, n_init)
    results = restarts(e, problem, task, device)
    del problem  # it holds a copy of the frames
    best = min(results, key=lambda result: result.objective)
    learned = attributes(e, device, best)
    e.__dict__.update(learned)
    e.n_iter_, e.history_ = best.n_iter, best.history
    e.stop_reason_, e.converged_ = best.status.value, best.converged
    e.n_atoms_, e.energy_ = best.n_atoms, best.energy
    e.objectives_ = np.array([result.objective for result in results])
    frames = encoding.moved_back(encoding.encoded(e, X, weights), device)
    e.reconstruction_err_ = frames.divergence
    e.objective_ = frames.divergence + frames.penalty
    e.atom_energies_ = frames.energies * best.scale**2
    task.end(lambda: learned)
    return frames


def problem_for(
    estimator: Parameters, X: Array, weights: Array | None, activations: ArrayLike | None
) -> Problem:
    """Return the problem of a fit to frames (N, M), which all restarts share."""
    e, M = estimator, X.shape[1]
    K = number_for(e, activations)
    options, frames = e._options(), checks.frames(X.T)
    if K == AUTO:
        return problem_of(frames, K, options, fixed=e.fixed, sample_weight=weights)
    components, H = first_components(e, M, K), None
    if e.warm_start and e._is_fitted:
        components, H = e.components_, encoding.encoded(e, X).H
        if options.method.anneal is None:
            options = options.with_anneal(None)
        options = replace(options, init=ArrayInit(arrays.like(e.transform_matrix_, X)))
    if activations is not None:
        H = arrays.like(checks.factor("activations", activations, (len(X), K), np.float64).T, X)
    W = arrays.like(components.T, X)  # not None: K may exceed M or N only if W is given
    return problem_of(frames, K, options, W=W, H=H, fixed=e.fixed, sample_weight=weights)


def first_components(estimator: Parameters, M: int, K: int | None) -> Array:
    """Return the parameter `components` (n, M), n ≤ K, or no rows; K None: as many as there are."""
    if estimator.components is None:
        return np.zeros((0, M))
    shape = checks.real_array("components", estimator.components).shape
    n = shape[0] if shape else 1
    n = n if K is None else min(n, K)
    return checks.factor("components", estimator.components, (n, M), np.float64)


def number_for(estimator: Parameters, activations: ArrayLike | None) -> Components:
    """Return how many components a fit has, "auto" if they are to be counted.

    A warm start has those of the fit before.
    """
    K = checked_components(estimator.n_components)
    if K != AUTO:
        return K
    if estimator.warm_start and estimator._is_fitted:
        return int(estimator.n_components_)
    factors = {"components": estimator.components, "activations": activations}
    for name, factor in factors.items():
        if factor is not None:
            raise ValueError(
                f"n_components is 'auto', but {name} have a number of components already: pass that"
                " number instead"
            )
    return AUTO


def attributes(
    estimator: Parameters, device: ComputeDevice, iterate: State | Result
) -> dict[str, object]:
    """Return the fitted attributes that `transform` needs, by their names."""
    components = arrays.contiguous(device.back(iterate.W).T)
    return {
        "transform_matrix_": device.back(iterate.Phi),
        "components_": components,
        "n_components_": len(components),
        "scale_": iterate.scale,
        "floor_": float(estimator.floor) * iterate.scale**2,
    }


def restarts(
    estimator: Parameters, problem: Problem, task: Task, device: ComputeDevice
) -> list[Result]:
    """Fit from `n_init` starts, whose random states are independent."""
    e, n = estimator, estimator.n_init
    callback = checks.function("callback", e.callback)
    names = [f"TLNMF, restart {number + 1}" if n > 1 else "TLNMF" for number in range(n)]
    random_states: Sequence[RandomState] = [e.random_state] * n
    if n > 1 and e.random_state is not None:
        random_states = checks.generators(e.random_state, n)
    tasks: dict[int, Task] = {}

    def began(number: int) -> None:
        tasks[number] = task.subtask("restart", number, problem.options.max_iter)

    def watcher(number: int) -> Callback:
        def watch(state: State) -> bool:
            iteration = tasks[number].subtask("iteration", state.iteration - 1)
            stop = iteration.end(lambda: attributes(e, device, state))
            return bool(callback is not None and callback(device.for_callback(state))) or stop

        return watch

    def ended(number: int, result: Result) -> None:
        if e.verbose:
            print_end(names[number], result)
        tasks[number].end(lambda: attributes(e, device, result))

    watched = callback is not None or task.has_callbacks
    callbacks = [watcher(number) if watched else None for number in range(n)]
    if e.verbose:
        callbacks = [printed(*pair) for pair in zip(names, callbacks, strict=True)]
    jobs = min(effective_n_jobs(e.n_jobs), n)
    file = None if e.checkpoint is None else Checkpoint.of(e.checkpoint)
    return problem.solve(random_states, callbacks, jobs, file, began, ended)
