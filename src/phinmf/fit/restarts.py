"""Several restarts of a fit, one after the other or in threads.

After an interrupt, running restarts end at their next outer iteration, and no new one begins.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TypeAlias

from phinmf.result import Callback, Result, State, Status
from phinmf.warn import pinned

Restart: TypeAlias = Callable[[int, Callback | None], Result]  #: runs the fit of this number


def in_turn(restart: Restart, callbacks: Sequence[Callback | None]) -> list[Result]:
    """Run one restart for each callback, one after the other."""
    results: list[Result] = []
    for number, callback in enumerate(callbacks):
        try:
            results.append(restart(number, callback))
        except KeyboardInterrupt:  # before its first iteration
            if not results:
                raise
            break
        if results[-1].status is Status.INTERRUPTED:
            break
    return results


def in_threads(restart: Restart, callbacks: Sequence[Callback | None], jobs: int) -> list[Result]:
    """Run one restart for each callback in `jobs` threads; an error of one of them ends all."""
    over = threading.Event()

    def stoppable(callback: Callback | None) -> Callback:
        def interrupt(state: State) -> object:
            if over.is_set():
                raise KeyboardInterrupt
            return None if callback is None else callback(state)

        return interrupt

    with pinned(), ThreadPoolExecutor(jobs) as pool:
        restarts = [  # in copies of this context, which knows a cluster and the line of the caller
            pool.submit(contextvars.copy_context().run, restart, number, stoppable(callback))
            for number, callback in enumerate(callbacks)
        ]
        with suppress(KeyboardInterrupt):  # which reaches this thread alone
            wait(restarts, return_when=FIRST_EXCEPTION)
        over.set()
        begun = [future for future in restarts if not future.cancel()]
        return [future.result() for future in begun]
