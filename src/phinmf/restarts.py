"""Several starts of one fit, one after the other or at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from phinmf import checks, threads
from phinmf._types import Array
from phinmf.api import tl_nmf
from phinmf.result import Result, State, Status
from phinmf.sklearn_callbacks import Task


def restarts(estimator: Any, Y: Array, how: dict[str, Any], task: Task) -> list[Result]:
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
            stop = iteration.end(lambda: estimator._attributes(state.Phi, state.W, state.scale))
            return bool(callback is not None and callback(state)) or stop

        result = tl_nmf(Y, random_state=seed, callback=watch, **how | own)
        part.end(lambda: estimator._attributes(result.Phi, result.W, result.scale))
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
