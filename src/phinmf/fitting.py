"""How a TLNMF is fitted: from its parameters to one or several starts, and to its attributes."""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike

from phinmf import checks, threads
from phinmf._types import Array
from phinmf.api import tl_nmf
from phinmf.encoding import Encoding, encode
from phinmf.lazy import dask
from phinmf.result import Result, State, Status
from phinmf.sklearn_callbacks import Task, with_callbacks


@with_callbacks  # type: ignore[untyped-decorator]
def fit(estimator: Any, X: Any, weights: Array | None, activations: ArrayLike | None) -> Encoding:
    """Fit a TLNMF to validated frames, and find their activations."""
    how = arguments(estimator, X, activations)
    how["sample_weight"] = weights
    task = Task.of_fit(estimator, X, checks.count("n_init", estimator.n_init, 1))
    results = restarts(estimator, X.T, how, task)
    best = min(results, key=lambda result: result.objective)
    learned = attributes(estimator, best.Phi, best.W, best.scale)
    for name, value in learned.items():
        setattr(estimator, name, value)
    estimator.n_iter_ = best.n_iter
    estimator.history_ = best.history
    estimator.stop_reason_ = best.status.value
    estimator.converged_ = best.converged
    estimator.objectives_ = np.array([result.objective for result in results])
    found = encoded(estimator, X, weights)
    estimator.reconstruction_err_ = found.divergence
    estimator.objective_ = found.divergence + found.penalty
    estimator.atom_energies_ = found.energies * best.scale**2
    task.end(lambda: learned)
    return found


def encoded(estimator: Any, X: Any, weights: Array | None = None, **how: Any) -> Encoding:
    """Activations of frames by a fitted TLNMF."""
    return encode(
        X.T[None],
        estimator.transform_matrix_,
        estimator.components_.T,
        scale=estimator.scale_,
        sparsity=estimator.sparsity,
        floor=estimator.floor,
        divergence=estimator.divergence,
        weights=weights,
        **{"engine": estimator.engine, "n_threads": estimator.n_threads} | how,
    )


def encoded_lazily(estimator: Any, X: Any) -> Any:
    """A dask array of the activations of one, each chunk by itself when it is asked for."""
    K = estimator.n_components_
    return X.map_blocks(
        activations_of_rows, dask().delayed(estimator), dtype=X.dtype,
        chunks=(X.chunks[0], (K,)), meta=np.empty((0, 0), X.dtype),
    )  # fmt: skip


def activations_of_rows(X: Array, estimator: Any) -> Array:
    """Those of a chunk of frames, on one thread: chunks run side by side."""
    return encoded(estimator, X, engine="auto", n_threads=estimator.n_threads or 1).H.T


def arguments(estimator: Any, X: Any, activations: ArrayLike | None) -> dict[str, Any]:
    """The arguments of `tl_nmf` that are the same for every restart."""
    own = ("components", "warm_start", "n_init", "n_jobs", "random_state", "callback")
    how = {k: v for k, v in estimator.get_params(deep=False).items() if k not in own}
    given: Array = np.zeros((0, X.shape[1]))  # none of them: any number is allowed
    K = checks.count("n_components", estimator.n_components, 1)
    if estimator.components is not None:
        n = min(len(np.atleast_1d(estimator.components)), K)
        given = checks.factor("components", estimator.components, (n, X.shape[1]), np.float64)
    how["W"] = given.T
    if estimator.warm_start and hasattr(estimator, "components_"):
        how |= {"init": estimator.transform_matrix_, "W": estimator.components_.T}
        how["H"] = encoded(estimator, X).H
        how["anneal"] = False if estimator.anneal is None else estimator.anneal
    if activations is not None:
        how["H"] = checks.factor("activations", activations, (len(X), K), np.float64).T
    return how


def attributes(estimator: Any, Phi: Array, W: Any, scale: float) -> dict[str, Any]:
    """What `transform` needs."""
    return {
        "transform_matrix_": Phi,
        "components_": np.ascontiguousarray(W.T),
        "n_components_": W.shape[1],
        "scale_": scale,
        "floor_": float(estimator.floor) * scale**2,
    }


def restarts(estimator: Any, Y: Any, how: dict[str, Any], task: Task) -> list[Result]:
    """Fit from `n_init` starts, whose seeds are independent."""
    n = estimator.n_init
    callback = checks.function("callback", estimator.callback)
    seeds = [estimator.random_state]
    if n > 1:
        entropy = checks.generator(estimator.random_state).integers(2**63, size=4)
        seeds = [np.random.default_rng(s) for s in np.random.SeedSequence(list(entropy)).spawn(n)]
    n_jobs = min(effective_n_jobs(estimator.n_jobs), n)
    if n_jobs > 1 and how["n_threads"] is None:
        how = how | {"n_threads": max(1, threads.available() // n_jobs)}

    over = threading.Event()

    def one(number: int, seed: Any) -> Result:
        part = task.part("restart", number, checks.count("max_iter", how["max_iter"], 0))
        own = files_of(how, number) if n > 1 else {}

        def watch(state: State) -> bool:
            if over.is_set():
                raise KeyboardInterrupt
            iteration = part.part("iteration", state.iteration - 1)
            stop = iteration.end(lambda: attributes(estimator, state.Phi, state.W, state.scale))
            return bool(callback is not None and callback(state)) or stop

        result = tl_nmf(Y, random_state=seed, callback=watch, **how | own)
        part.end(lambda: attributes(estimator, result.Phi, result.W, result.scale))
        return result

    if n_jobs > 1:
        with ThreadPoolExecutor(n_jobs) as pool:
            work = [pool.submit(one, number, seed) for number, seed in enumerate(seeds)]
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
