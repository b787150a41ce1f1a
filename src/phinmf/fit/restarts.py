"""Several restarts, in turn or in threads.

After an interrupt, running restarts stop and no new one starts.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress

from phinmf.algorithm.restart import Callback
from phinmf.result import Result, State, Status
from phinmf.warn import pinned

One = Callable[[int, Callable[[], bool]], Result]  #: runs a restart until it ends or `stopped()`


def in_turn(one: One, n: int) -> list[Result]:
    """Run n restarts one after the other."""
    results: list[Result] = []
    for number in range(n):
        try:
            results.append(one(number, lambda: False))
        except KeyboardInterrupt:  # before its first iteration
            if not results:
                raise
            break
        if results[-1].status is Status.INTERRUPTED:
            break
    return results


def in_threads(one: One, n: int, jobs: int) -> list[Result]:
    """Run n restarts, so many at the same time."""
    over = threading.Event()
    with pinned(), ThreadPoolExecutor(jobs) as pool:
        work = [  # in copies of this context, which knows a cluster and the line of the caller
            pool.submit(contextvars.copy_context().run, one, number, over.is_set)
            for number in range(n)
        ]
        with suppress(KeyboardInterrupt):  # which reaches this thread alone
            wait(work, return_when=FIRST_EXCEPTION)
        over.set()  # what still runs ends at its next iteration, and nothing new is begun
        begun = [restart for restart in work if not restart.cancel()]
        return [restart.result() for restart in begun]


def stopping_with(callback: Callback | None, stopped: Callable[[], bool]) -> Callback:
    """A callback that interrupts its restart when it is told to stop."""

    def seen(state: State) -> object:
        if stopped():
            raise KeyboardInterrupt
        return None if callback is None else callback(state)

    return seen
