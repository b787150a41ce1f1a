"""Computations by dask, in this process or on a cluster; started again if workers are lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from phinmf._types import AnyArray, Array
from phinmf.arrays import lazy
from phinmf.arrays.cluster_watch import ClusterWorkers, Lost, Watch, address_of

log = logging.getLogger("phinmf")
ATTEMPTS = 10  #: maximum number of times that the same work is started


class ClusterTask:
    """Work on a cluster, which is started again if it waits for a worker that is silent or paused.

    If a worker has left the cluster, the scheduler itself gives its work to another one.
    """

    def __init__(self, watch: Watch, submit: Callable[..., Any]) -> None:
        """Start the work: `submit` returns its futures, given where it may be computed."""
        self.watch = watch
        self.submit = submit
        self.begin()

    def begin(self, **where: Any) -> None:
        """Start the work, on any worker or on some (keyword arguments of dask's submit)."""
        self.asked = self.watch.ready()
        self.futures = self.submit(**where)

    def result(self) -> Any:
        """Wait for the work and return its result."""
        killed = lazy.distributed().KilledWorker
        last: Exception = Lost()
        for _ in range(ATTEMPTS):
            try:
                return self.watch.result(self.watch.begin(self.gathered()), self.lost, self.all())
            except killed as error:  # the scheduler has tried several workers
                raise too_often(self.watch.client, error) from error
            except (Lost, OSError) as error:
                if any(future.status == "error" for future in self.all()):
                    raise  # the computation itself has failed
                last = error
            log.warning("a worker is lost: its work is started again on another one")
            self.futures = None
            self.begin(workers=sorted(self.watch.ready()), allow_other_workers=True)
        raise too_often(self.watch.client, last) from last

    def all(self) -> list[Any]:
        """Return all futures as a list, also if there is only one."""
        return self.futures if isinstance(self.futures, list) else [self.futures]

    async def gathered(self) -> Any:
        """Return the results of the futures as soon as all are done; raise if one has failed."""
        futures, states = self.all(), {"pending"}
        while "error" not in states and not states.isdisjoint(("pending", "lost")):
            await asyncio.sleep(0.01)
            states = {future.status for future in futures}
        return await self.watch.client.gather(self.futures)

    def lost(self, found: ClusterWorkers) -> bool:
        """Whether the work may wait for a worker that is silent, or paused and not computing it."""
        listed = self.asked.keys() & (found.there | found.silent)
        stuck = {address for address in listed if self.watch.unready(address, found)}
        alone = not isinstance(self.futures, list)  # the worker of a single task is known
        if not stuck or (alone and not self.watch.has(stuck, self.futures.key)):
            return False
        return bool(stuck & found.silent) or not self.watch.executing(self.all(), stuck)


def compute(Y: AnyArray, tasks: list[Any]) -> list[Any]:
    """Compute delayed tasks on a dask array Y where dask computes now, and return their results."""
    client = lazy.current_client()
    if client is None:
        return list(lazy.dask().compute(*tasks))

    def submit(**where: Any) -> Any:
        return resubmit(client, Y, tasks, **where) if where else client.compute(tasks)

    found: list[Any] = ClusterTask(Watch(client), submit).result()
    return found


def in_memory(Y: AnyArray) -> Array:
    """Compute a dask array (C, M, N) that is chunked along frames alone."""
    return np.concatenate(compute(Y, list(Y.to_delayed().ravel())), axis=2)


def resubmit(client: Any, Y: AnyArray, tasks: list[Any], **where: Any) -> list[Any]:
    """Submit lost tasks again, each under a new key and with everything that it depends on.

    So no task waits for a result that the scheduler believes to be on another worker, unless the
    array Y itself is held by the cluster.
    """
    if lazy.distributed().futures_of(Y):
        futures: list[Any] = client.compute(tasks, **where)
        return futures
    boxes = [Box(*lazy.dask().optimize(task)) for task in tasks]
    return [client.submit(unpacked, box, pure=False, **where) for box in boxes]


@dataclass(frozen=True)
class Box:
    """A task as plain data, whose parts dask does not schedule one by one."""

    task: Any


def unpacked(box: Box) -> Any:
    """Compute the task in a box in this thread."""
    return box.task.compute(scheduler="sync")


def too_often(client: Any, lost: Exception) -> ConnectionError:
    """Return the error that the same work was lost too often."""
    cause = lost.__cause__ if isinstance(lost, Lost) else lost
    why = "" if cause is None else f" (the last time {type(cause).__name__}: {cause})"
    return ConnectionError(
        f"the Dask cluster at {address_of(client)} has lost one worker after the other with the"
        f" same work{why}: read the logs of the workers, which often need more memory"
    )


def of_a_lost_worker(error: BaseException) -> bool:
    """Whether an error is how the scheduler reports a shard that was lost with its worker."""
    killed = isinstance(error, lazy.distributed().KilledWorker)
    return killed or (isinstance(error, RuntimeError) and "Actor was lost" in str(error))
