"""Worker threads of our own, with one BLAS thread each, and nothing changed for the caller."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

import threadpoolctl

In = TypeVar("In")
Out = TypeVar("Out")


def available() -> int:
    """Number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class SingleThreadedBlas:
    """While anyone is inside, BLAS uses one thread; the last one out restores what was set.

    The setting belongs to the whole process, so fits that run at the same time share it, and any
    of their threads may have to set it: threadpoolctl (3.8) leaves that to the first that did.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limiter: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                release_control()
                blas = threadpoolctl.ThreadpoolController().select(user_api="blas")
                self._limiter = blas.limit(limits=1)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                release_control()
                self._limiter.restore_original_limits()
                release_control()


def release_control() -> None:
    """Let any thread set the number of BLAS threads."""
    openblas: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(openblas, "clear_controlling_thread"):
        openblas.clear_controlling_thread(force=True)


single_threaded_blas = SingleThreadedBlas()


class Workers:
    """Threads that each take the next piece of work; used as a context."""

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = n_threads or available()
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Workers:
        single_threaded_blas.__enter__()
        if self.n_threads > 1:  # threads are started when there is work, not here
            self._pool = ThreadPoolExecutor(self.n_threads - 1, thread_name_prefix="phinmf")
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._pool is not None:
                self._pool.shutdown()
        finally:
            self._pool = None
            single_threaded_blas.__exit__()

    def each(self, work: Callable[[In], Any], items: Sequence[In]) -> None:
        """Do the work for every item."""
        self.in_order(work, items, lambda _: None)

    def in_order(
        self, work: Callable[[In], Out], items: Sequence[In], use: Callable[[Out], Any]
    ) -> None:
        """Do the work for every item, and use the results one at a time in the items' order."""
        if self._pool is None or len(items) < 2:
            for item in items:
                use(work(item))
            return
        remaining = iter(range(len(items)))  # next() is atomic
        waiting: dict[int, Out] = {}
        due = 0
        lock = threading.Lock()

        def take() -> None:
            nonlocal due
            for i in remaining:
                result = work(items[i])
                with lock:
                    waiting[i] = result
                    while due in waiting:
                        use(waiting.pop(due))
                        due += 1

        others: list[Future[None]] = []
        try:
            for _ in range(min(self.n_threads, len(items)) - 1):
                others.append(self._pool.submit(take))
            take()  # the calling thread works too
        finally:
            for _ in remaining:  # after an error or an interrupt, nothing new is begun
                pass
            wait(others)
        for other in others:
            other.result()
