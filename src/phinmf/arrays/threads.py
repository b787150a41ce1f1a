"""Worker threads with one BLAS thread each, which change nothing for the caller.

Invariants:

* While any of our threads computes, BLAS has one thread; the last of them restores the number that
  the caller had. So results do not depend on the number of threads.
* Results of items are used in the order of the items, whichever thread computed them.
* A fork waits until nothing is half done (`no_fork`). In the child, locks are free, and no threads
  are left, so that the caller does all the work of pools that were open.
* After an error or an interrupt, no new item is started, and those that run are waited for.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import threadpoolctl

In = TypeVar("In")
Out = TypeVar("Out")


def available() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


#: While a thread holds this lock, a fork of the process waits, so a child process inherits no
#: unfinished work and no locked lock.
no_fork = threading.RLock()
locks: list[AbstractContextManager[object]] = [no_fork]  #: that a fork takes: ours, then libraries'


def _before_fork() -> None:
    for lock in locks:  # a list that grows only while the first lock is held
        lock.__enter__()


def _after_fork() -> None:
    for lock in reversed(locks):
        lock.__exit__(None, None, None)


class InsideOfThread(threading.local):
    """How many contexts of single-threaded BLAS each thread is inside of."""

    number = 0


class SingleThreadedBlas:
    """While a thread is inside this context, BLAS uses one thread; the last exit restores it.

    The number of BLAS threads belongs to the whole process, so fits that run at the same time
    share it, and any of their threads may have to set it, although threadpoolctl (3.8) allows that
    only to the first thread that did. In a forked child only the thread that forked continues, so
    only its own entries count.
    """

    def __init__(self) -> None:
        self._inside = 0
        self._of_thread = InsideOfThread()
        self._limiter: Any = None
        self._blas: Any = None
        self._n_modules = 0  #: number of imported modules when BLAS libraries were looked for

    def __enter__(self) -> None:
        with no_fork:
            if self._inside == 0:
                if self._n_modules != len(sys.modules):  # only an import adds libraries
                    self._n_modules = len(sys.modules)
                    self._blas = threadpoolctl.ThreadpoolController().select(user_api="blas")
                release_control()
                self._limiter = self._blas.limit(limits=1)
            self._inside += 1
            self._of_thread.number += 1

    def __exit__(self, *_: object) -> None:
        with no_fork:
            self._inside -= 1
            self._of_thread.number -= 1
            if self._inside == 0:
                release_control()
                self._limiter.restore_original_limits()
                release_control()

    def forked(self) -> None:
        """In a forked child, exit for the threads that did not come along."""
        own = max(0, self._of_thread.number)
        if self._inside > own:
            self._inside = self._of_thread.number = own + 1
            self.__exit__()


def release_control() -> None:
    """Allow any thread to set the number of BLAS threads."""
    openblas: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(openblas, "clear_controlling_thread"):
        openblas.clear_controlling_thread(force=True)


single_threaded_blas = SingleThreadedBlas()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
    os.register_at_fork(after_in_child=single_threaded_blas.forked)


class Workers:
    """Threads that work on one item each, the caller being one of them; used as a context."""

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = n_threads or available()
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0  #: the process that has the threads of the pool

    def __enter__(self) -> Workers:
        single_threaded_blas.__enter__()
        if self.n_threads > 1:  # it starts them when there is work
            self._pool = ThreadPoolExecutor(self.n_threads - 1, thread_name_prefix="phinmf")
            self._process = os.getpid()
        return self

    def __reduce__(self) -> tuple[type[Workers], tuple[int]]:
        """Let another process have threads of its own."""
        return Workers, (self.n_threads,)

    def __exit__(self, *_: object) -> None:
        try:
            if self._pool is not None:
                self._pool.shutdown()
        finally:
            self._pool = None
            single_threaded_blas.__exit__()

    def map(self, work: Callable[[In], Out], items: Iterable[In]) -> Generator[Out]:
        """Yield what the work returns for each item, in the order of the items.

        Until the next result is there, the caller works, too: a thread less needs less memory. At
        most n + 1 results wait at a time for n threads, however many items there are. An error is
        raised when its item is due. With one thread, or of one item, or in a forked child, the
        caller does all the work. A caller that does not use all results must close the iterator,
        which waits for the threads.
        """
        pool = self._pool if self._process == os.getpid() else None
        if pool is None or (isinstance(items, Sequence) and len(items) < 2):
            yield from map(work, items)
            return
        waiting: deque[tuple[In, Future[Out]]] = deque()
        try:
            for item in items:
                waiting.append((item, pool.submit(work, item)))
                if len(waiting) > self.n_threads:
                    yield first_result(work, waiting)
            while waiting:
                yield first_result(work, waiting)
        finally:  # after an error or an interrupt, nothing new is started
            for _, future in waiting:
                future.cancel()
            for _, future in waiting:
                wait([future])


def first_result(work: Callable[[In], Out], waiting: deque[tuple[In, Future[Out]]]) -> Out:
    """Remove the first item and return its result; meanwhile do what no thread has begun."""
    while not waiting[0][1].done():
        for i, (item, future) in enumerate(waiting):
            if future.cancel():
                own: Future[Out] = Future()
                try:
                    own.set_result(work(item))
                except Exception as error:  # raised when it is due
                    own.set_exception(error)
                waiting[i] = item, own
                break
        else:
            wait([waiting[0][1]])  # an interrupt leaves it in the queue
    return waiting.popleft()[1].result()


def parallel_map(
    work: Callable[[In], Out], items: Iterable[In], n_threads: int | None = None
) -> Iterator[Out]:
    """Yield the results of `Workers.map` with workers of its own.

    BLAS has one thread from the first item to the last, so the bits do not depend on the number.
    """
    with Workers(n_threads) as workers:
        yield from workers.map(work, items)
