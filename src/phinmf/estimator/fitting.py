"""How a TLNMF is fitted: from its parameters to one or several starts, and to its attributes."""

from __future__ import annotations

import contextvars
import copy
import functools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from phinmf import arrays, checks
from phinmf._types import Array
from phinmf.api import tl_nmf
from phinmf.arrays import threads
from phinmf.arrays.lazy import dask, is_lazy, rows
from phinmf.engines import ENGINES
from phinmf.estimator.callbacks import Task, with_callbacks
from phinmf.fit import assembly
from phinmf.fit import given as starts
from phinmf.fit.devices import Place
from phinmf.fit.encode import Encoding, encode
from phinmf.fit.problem import problem_of
from phinmf.result import Result, State, Status
from phinmf.warn import pinned


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Leave an estimator as it was if its fit fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


@with_callbacks  # type: ignore[untyped-decorator]
def fit(estimator: Any, X: Any, weights: Array | None, activations: ArrayLike | None) -> Encoding:
    """Fit a TLNMF to validated frames, and find their activations."""
    place = Place("X", X, estimator.device)
    with place.enough_memory():
        return fit_here(estimator, place.take(X), place, weights, activations)


def fit_here(
    estimator: Any, X: Array, place: Place, weights: Array | None, activations: ArrayLike | None
) -> Encoding:
    """Fit to frames that are where they are computed with; what is learned goes back."""
    how = arguments(estimator, X, activations)
    how["sample_weight"] = weights
    task = Task.of_fit(estimator, place.given, checks.count("n_init", estimator.n_init, 1))
    results = restarts(estimator, X.T, how, task, place)
    best = min(results, key=lambda result: result.objective)
    learned = attributes(estimator, place.back(best.Phi), place.back(best.W), best.scale)
    for name, value in learned.items():
        setattr(estimator, name, value)
    estimator.n_iter_ = best.n_iter
    estimator.history_ = best.history
    estimator.stop_reason_ = best.status.value
    estimator.converged_ = best.converged
    estimator.objectives_ = np.array([result.objective for result in results])
    found = found_back(encoded(estimator, X, weights), place)
    estimator.reconstruction_err_ = found.divergence
    estimator.objective_ = found.divergence + found.penalty
    estimator.atom_energies_ = found.energies * best.scale**2
    task.end(lambda: learned)
    return found


def encoded(estimator: Any, X: Any, weights: Array | None = None, **how: Any) -> Encoding:
    """Activations of frames by a fitted TLNMF, as arrays like the frames."""
    place = Place("X", X, estimator.device)
    with place.enough_memory():
        found = encode(
            place.take(X).T[None],
            estimator.transform_matrix_,
            estimator.components_.T,
            scale=estimator.scale_,
            sparsity=estimator.sparsity,
            floor=estimator.floor,
            divergence=estimator.divergence,
            weights=weights,
            **{"engine": estimator.engine, "n_threads": estimator.n_threads} | how,
        )
        return found_back(found, place)


def found_back(found: Encoding, place: Place) -> Encoding:
    """Activations where the frames came from."""
    return found._replace(H=place.back(found.H), energies=place.back(found.energies))


def encoded_lazily(estimator: Any, X: Any) -> Any:
    """A dask array of the activations of one, each chunk by itself when it is asked for."""
    K = estimator.n_components_
    as_it_is = copy.copy(estimator)  # whatever is fitted later
    as_it_is.callback = None  # which may not travel
    return X.map_blocks(
        activations_of_rows, dask().delayed(as_it_is), dtype=X.dtype,
        chunks=(X.chunks[0], (K,)), meta=np.empty((0, 0), X.dtype),
    )  # fmt: skip


def activations_of_rows(X: Array, estimator: Any) -> Array:
    """Those of a chunk of frames, on one thread: chunks run side by side."""
    return encoded(estimator, X, engine="auto", n_threads=estimator.n_threads or 1).H.T


def arguments(estimator: Any, X: Any, activations: ArrayLike | None) -> dict[str, Any]:
    """The arguments of `tl_nmf` that are the same for every restart."""
    own = ("components", "warm_start", "n_init", "n_jobs", "random_state", "callback", "device")
    how = {k: v for k, v in estimator.get_params(deep=False).items() if k not in own}
    given: Array = np.zeros((0, X.shape[1]))  # none of them: any number is allowed
    K = checks.count("n_components", estimator.n_components, 1)
    if estimator.components is not None:
        shape = checks.real_array("components", estimator.components).shape
        n = min(shape[0] if shape else 1, K)
        given = checks.factor("components", estimator.components, (n, X.shape[1]), np.float64)
    how["W"] = arrays.like(given.T, X)
    if estimator.warm_start and hasattr(estimator, "components_"):
        learned = estimator.transform_matrix_, estimator.components_.T
        how["init"], how["W"] = (arrays.like(a, X) for a in learned)
        how["H"] = encoded(estimator, X).H
        how["anneal"] = False if estimator.anneal is None else estimator.anneal
    if activations is not None:
        H = checks.factor("activations", activations, (len(X), K), np.float64).T
        how["H"] = arrays.like(H, X)
    return how


def check_parameters(estimator: Any) -> None:
    """Raise what a fit would raise for these parameters, whatever its frames are."""
    e = estimator
    assembly.settings(
        (1, 2, 1), e.solver, e.floor, e.anneal, e.max_iter, e.max_time, e.n_iter_transform, e.tol,
        mu=checks.number("sparsity", e.sparsity, 0), gamma=assembly.exponent(e.nmf_exponent),
        n_iter_nmf=e.n_iter_nmf, callback=e.callback, rng=checks.generator(e.random_state),
    )  # fmt: skip
    for name in ("n_components", "n_init"):
        checks.count(name, getattr(e, name), 1)
    if e.n_threads is not None:
        checks.count("n_threads", e.n_threads, 1)
    if e.divergence is not None:
        assembly.divergence_of(e.divergence)
    checks.known("engine", e.engine, ["auto", *ENGINES])
    M = 1 if isinstance(e.init, str) else len(e.init)
    checks.transform(e.init, M, checks.generator(0), np.float64)
    checks.number("checkpoint_every", e.checkpoint_every, 0)
    starts.fixed_parts(e.fixed, e.n_components, has_H=True)


def attributes(estimator: Any, Phi: Array, W: Any, scale: float) -> dict[str, Any]:
    """What `transform` needs."""
    return {
        "transform_matrix_": Phi,
        "components_": arrays.contiguous(W.T),
        "n_components_": W.shape[1],
        "scale_": scale,
        "floor_": float(estimator.floor) * scale**2,
    }


def restarts(estimator: Any, Y: Any, how: dict[str, Any], task: Task, place: Place) -> list[Result]:
    """Fit from `n_init` starts, whose seeds are independent."""
    n = estimator.n_init
    callback = checks.function("callback", estimator.callback)
    seeds = [estimator.random_state] * n
    if n > 1 and estimator.random_state is not None:
        entropy = checks.generator(estimator.random_state).integers(2**63, size=4)
        seeds = [np.random.default_rng(s) for s in np.random.SeedSequence(list(entropy)).spawn(n)]
    n_jobs = min(effective_n_jobs(estimator.n_jobs), n)
    if n_jobs > 1 and how["n_threads"] is None:
        how = how | {"n_threads": max(1, threads.available() // n_jobs)}

    over = threading.Event()

    def told(at: State | Result) -> dict[str, Any]:
        return attributes(estimator, place.back(at.Phi), place.back(at.W), at.scale)

    def watcher(part: Task) -> Callable[[State], bool]:
        def watch(state: State) -> bool:
            if over.is_set():
                raise KeyboardInterrupt
            iteration = part.part("iteration", state.iteration - 1)
            stop = iteration.end(lambda: told(state))
            return bool(callback is not None and callback(place.seen(state))) or stop

        return watch

    def part_of(number: int) -> Task:
        return task.part("restart", number, checks.count("max_iter", how["max_iter"], 0))

    def one(number: int, seed: Any) -> Result:
        part = part_of(number)
        own = files_of(how, number) if n > 1 else {}
        result = tl_nmf(Y, random_state=seed, callback=watcher(part), **how | own)
        part.end(lambda: told(result))
        return result

    if arrays.is_tensor(Y) and how["checkpoint"] is None and how["resume"] is False:
        others = ("checkpoint", "checkpoint_every", "resume")
        problem = problem_of(Y, **{k: v for k, v in how.items() if k not in others})
        if problem.runs_in_lockstep:
            parts = [part_of(number) for number in range(n)]
            watched = callback is not None or task.heard
            results = problem.together(seeds, [watcher(p) if watched else None for p in parts])
            for part, result in zip(parts, results, strict=False):
                part.end(functools.partial(told, result))
            return results
    if n_jobs > 1:
        with pinned(), ThreadPoolExecutor(n_jobs) as pool:
            work = [  # in copies of this context, which knows a cluster and the caller's line
                pool.submit(contextvars.copy_context().run, one, number, seed)
                for number, seed in enumerate(seeds)
            ]
            with suppress(KeyboardInterrupt):  # which reaches this thread alone
                wait(work, return_when=FIRST_EXCEPTION)
            over.set()  # what still runs ends at its next iteration, and nothing new is begun
            begun = [restart for restart in work if not restart.cancel()]
            return [restart.result() for restart in begun]
    results = []
    for number, seed in enumerate(seeds):
        results.append(one(number, seed))
        if results[-1].status is Status.INTERRUPTED:
            break
    return results


def files_of(how: dict[str, Any], number: int) -> dict[str, Any]:
    """Each restart has a checkpoint of its own."""
    own = {}
    if how["checkpoint"] is not None:
        own["checkpoint"] = f"{how['checkpoint']}.{number}"
    if not isinstance(how["resume"], bool):
        own["resume"] = f"{how['resume']}.{number}"
    return own


def validated(estimator: Any, X: Any, reset: bool = True) -> Any:
    """Frames as scikit-learn wants them; a tensor or a dask array stays where it is."""
    if not (arrays.is_tensor(X) or is_lazy(X)):
        return validate_data(estimator, X, dtype=(np.float64, np.float32), reset=reset)
    name = type(estimator).__name__
    M = X.shape[1] if len(X.shape) == 2 else None
    if not reset and M is not None and estimator.n_features_in_ != M:
        raise ValueError(
            f"X has {M} features, but {name} is expecting {estimator.n_features_in_} features"
        )
    frames = rows(X) if is_lazy(X) else checks.real_array("X", X)
    if len(frames.shape) != 2 or 0 in frames.shape:
        raise ValueError(
            f"X has shape {tuple(frames.shape)}, but frames of shape (n_frames, n_features) are"
            " needed, at least one"
        )
    if reset:
        estimator.n_features_in_ = frames.shape[1]
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
    return frames
