"""Results of a stream of work, in its order, while threads compute the next ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from phinmf.arrays.threads import available, single_threaded_blas

In = TypeVar("In")
Out = TypeVar("Out")


def parallel_map(
    work: Callable[[In], Out], items: Iterable[In], n_threads: int | None = None
) -> Iterator[Out]:
    """Yield what `work` returns for each item, in the order of the items.

    Threads work on as many items as there are threads while the caller uses a result, each with
    BLAS on one thread, so the bits do not depend on how many there are. Few results wait at a time,
    however many items there are. An error in a thread is raised here, when its item is due. With
    one thread, everything is done by the caller itself.
    """

    def one(item: In) -> Out:
        with single_threaded_blas:
            return work(item)

    n = n_threads or available()
    if n == 1:
        yield from map(one, items)
        return
    waiting: deque[Future[Out]] = deque()
    pool = ThreadPoolExecutor(n, thread_name_prefix="phinmf")
    try:
        for item in items:
            waiting.append(pool.submit(one, item))
            if len(waiting) > n:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:  # after an error or an interrupt, nothing new is started
        pool.shutdown(cancel_futures=True)
