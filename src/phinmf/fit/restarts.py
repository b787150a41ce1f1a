"""Several restarts of a fit, one after the other or in threads, and the lines that fits print.

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
from phinmf.warn import pinned, say

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


def printed(name: str, callback: Callback | None) -> Callback:
    """Return a callback that prints each outer iteration, too."""

    def reported(state: State) -> bool:
        """Print the best objective so far: that of an iteration rises while the floor falls."""
        best, seconds = state.history.target_objective.min(), state.history[-1].seconds
        say(f"{name}: iteration {state.iteration}, best objective {best:.6g}, {seconds:.1f} s")
        return bool(callback is not None and callback(state))

    return reported


def print_end(name: str, result: Result) -> None:
    """Print why a fit stopped."""
    say(f"{name}: {result.status.value}; objective {result.objective:.6g}")
