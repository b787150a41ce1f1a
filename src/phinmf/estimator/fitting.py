"""The fit of a TLNMF: from its parameters to restarts, and from results to attributes."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike

from phinmf import arrays, checks
from phinmf._types import AnyArray, Array, RandomState
from phinmf.arrays.threads import available
from phinmf.estimator import encoding
from phinmf.estimator.parameters import Parameters
from phinmf.fit.advice import advise
from phinmf.fit.automatic import AUTO, checked_components
from phinmf.fit.checkpoint import Checkpoint
from phinmf.fit.devices import ComputeDevice
from phinmf.fit.encode import EncodedFrames
from phinmf.fit.problem import Problem, problem_of, warn_unless_converged
from phinmf.inits import ArrayInit
from phinmf.result import Callback, Result, State, Status

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
#: Returns a callback that also ends its restart if another one has failed or was interrupted.
Guard: TypeAlias = Callable[[Callback | None], Callback | None]
Restart: TypeAlias = Callable[[int, Guard], Result]  #: runs the fit of this number


class Task:
    """A task of scikit-learn's callbacks: the fit, a restart or an outer iteration.

    Before scikit-learn 1.9 there are no such callbacks: then the context is None.
    """

    def __init__(self, estimator: Parameters, X: AnyArray, context: Any) -> None:
        self.estimator = estimator
        self.X = X
        self.context = context
        if context is not None:
            context.call_on_fit_task_begin(estimator=estimator, X=X, y=X)

    def subtask(self, name: str, number: int, n_subtasks: int = 0) -> Task:
        """Begin a subtask."""
        context = None
        if self.context is not None:
            context = self.context.subcontext(
                name, task_id=number, max_subtasks=n_subtasks, sequential_subtasks=False
            )
        return Task(self.estimator, self.X, context)

    def end(self, attributes: Attributes) -> bool:
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
    e, n_init = estimator, checks.count("n_init", estimator.n_init, 1)
    device = ComputeDevice("X", X, e.device, e.engine)
    with device.computing():
        problem = problem_for(e, device.take(X), weights, activations)
        advise(problem.data.frames, problem.options)
        context = None
        if hasattr(e, "_init_callback_context"):  # scikit-learn's name of it for estimators
            context = e._init_callback_context(max_subtasks=n_init, sequential_subtasks=False)
        task = Task(e, X, context)
        results = restarts(e, problem, task, device)
        tol = problem.options.tol
        del problem  # it holds a copy of the frames
    for result in results:
        warn_unless_converged(result.status, tol)
    best = min(results, key=lambda result: result.objective)
    learned = attributes(e, device, best)
    e.__dict__.update(learned)
    e.n_iter_, e.history_ = best.n_iter, best.history
    e.stop_reason_, e.converged_ = best.status.value, best.converged
    e.n_atoms_, e.energy_ = best.n_atoms, best.energy
    e.objectives_ = np.array([result.objective for result in results])
    frames = encoding.encoded(e, X, weights)
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
    options, frames, K = e._options(), checks.frames(X.T), checked_components(e.n_components)
    is_warm = e.warm_start and e._is_fitted
    if K == AUTO and not is_warm:
        start = {"W": e.components, "H": activations}  # refused: they have a number of components
        return problem_of(frames, K, options, **start, fixed=e.fixed, sample_weight=weights)
    K = e.n_components_ if K == AUTO else K
    components, H = first_components(e, M // options.atoms_per_power, K), None
    if is_warm:
        components, H = e.components_, encoding.encoded(e, X).H
        if options.method.anneal is None:
            options = options.with_anneal(None)
        options = replace(options, init=ArrayInit(arrays.like(e.transform_matrix_, X)))
    if activations is not None:
        H = arrays.like(checks.factor("activations", activations, (len(X), K), np.float64).T, X)
    W = arrays.like(components.T, X)  # not None: K may exceed M or N only if W is given
    return problem_of(frames, K, options, W=W, H=H, fixed=e.fixed, sample_weight=weights)


def first_components(estimator: Parameters, P: int, K: int | None) -> Array:
    """Return the parameter `components` (n, P), n ≤ K, or no rows; K None: as many as there are."""
    if estimator.components is None:
        return np.zeros((0, P))
    shape = checks.real_array("components", estimator.components).shape
    n = shape[0] if shape else 1
    n = n if K is None else min(n, K)
    return checks.factor("components", estimator.components, (n, P), np.float64)


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
    random_states: Sequence[RandomState] = [e.random_state] * n
    if n > 1 and e.random_state is not None:
        random_states = checks.generators(e.random_state, n)
    jobs, options = min(effective_n_jobs(e.n_jobs), n), problem.options
    if jobs > 1 and options.n_threads is None:  # restarts share the processors
        problem = replace(problem, options=replace(options, n_threads=max(1, available() // jobs)))
    checkpoint = None if e.checkpoint is None else Checkpoint.of(e.checkpoint)

    def restart(number: int, guard: Guard) -> Result:
        name = f"TLNMF, restart {number + 1}" if n > 1 else "TLNMF"
        subtask = task.subtask("restart", number, options.max_iter)

        def watch(state: State) -> bool:
            iteration = subtask.subtask("iteration", state.iteration - 1)
            stop = iteration.end(lambda: attributes(e, device, state))
            return bool(callback is not None and callback(device.for_callback(state))) or stop

        watched: Callback | None = watch if callback is not None or task.context else None
        own = None if checkpoint is None else checkpoint.of_restart(number, n)
        spoken = name if e.verbose else None
        result = problem.fit(random_states[number], guard(watched), own, spoken)
        subtask.end(lambda: attributes(e, device, result))
        return result

    return run_restarts(restart, n, jobs)


def run_restarts(restart: Restart, n: int, jobs: int = 1) -> list[Result]:
    """Run n restarts, one after the other or in `jobs` threads; an error of one ends all.

    After an interrupt, running restarts end at their next outer iteration, and no new one begins.
    """
    if jobs > 1:
        return in_threads(restart, n, jobs)
    results: list[Result] = []
    for number in range(n):
        try:
            results.append(restart(number, lambda callback: callback))
        except KeyboardInterrupt:  # before its first iteration
            if not results:
                raise
            break
        if results[-1].status is Status.INTERRUPTED:
            break
    return results


def in_threads(restart: Restart, n: int, jobs: int) -> list[Result]:
    """Run n restarts in threads."""
    over = threading.Event()

    def guard(callback: Callback | None) -> Callback:
        def interrupt(state: State) -> object:
            if over.is_set():
                raise KeyboardInterrupt
            return None if callback is None else callback(state)

        return interrupt

    with ThreadPoolExecutor(jobs) as pool:
        restarts = [  # in copies of this context, which knows a cluster
            pool.submit(contextvars.copy_context().run, restart, number, guard)
            for number in range(n)
        ]
        with suppress(KeyboardInterrupt):  # which reaches this thread alone
            wait(restarts, return_when=FIRST_EXCEPTION)
        over.set()
        begun = [future for future in restarts if not future.cancel()]
        return [future.result() for future in begun]
