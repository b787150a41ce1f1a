"""Several restarts of a fit, one after the other or in threads.

After an interrupt, running restarts end at their next outer iteration, and no new one begins.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TypeAlias

from phinmf.result import Callback, Result, State, Status

#: Returns a callback that also ends its restart if another one has failed or was interrupted.
Guard: TypeAlias = Callable[[Callback | None], Callback | None]
Restart: TypeAlias = Callable[[int, Guard], Result]  #: runs the fit of this number


def run_restarts(restart: Restart, n: int, jobs: int = 1) -> list[Result]:
    """Run n restarts, one after the other or in `jobs` threads; an error of one ends all."""
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
