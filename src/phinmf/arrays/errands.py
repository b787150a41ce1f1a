"""What dask computes: here, or on the workers of a cluster, on others if some are lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from phinmf._types import Array
from phinmf.arrays import lazy
from phinmf.arrays.patience import ClusterWorkers, Lost, Watch, address_of

log = logging.getLogger("phinmf")
ATTEMPTS = 10  #: times that the same work may be lost with its workers


class Errand:
    """Work on a cluster, which is begun again if it is stuck on a worker that is silent or paused.

    What was on a worker that has left the cluster the scheduler gives to another one by itself.
    """

    def __init__(self, watch: Watch, submit: Callable[..., Any]) -> None:
        self.watch = watch
        self.submit = (
            submit  #: returns futures; takes the workers that may compute them, if not all
        )
        self.begin()

    def begin(self, **where: Any) -> None:
        """Have it done by any worker, or by these."""
        self.asked = self.watch.ready()
        self.futures = self.submit(**where)

    def result(self) -> Any:
        """Wait until it is done."""
        killed = lazy.distributed().KilledWorker
        last: Exception = Lost()
        for _ in range(ATTEMPTS):
            try:
                return self.watch.result(self.watch.begin(self.gathered()), self.lost, self.all())
            except killed as error:  # the scheduler has tried several workers
                raise too_often(self.watch.client, error) from error
            except (Lost, OSError) as error:
                if any(future.status == "error" for future in self.all()):
                    raise  # it is the computation that has failed
                last = error
            log.warning("a worker is lost: its work is begun again on another one")
            self.futures = None
            self.begin(workers=sorted(self.watch.ready()), allow_other_workers=True)
        raise too_often(self.watch.client, last) from last

    def all(self) -> list[Any]:
        """Its futures, or its only one."""
        return self.futures if isinstance(self.futures, list) else [self.futures]

    async def gathered(self) -> Any:
        """What the futures hold, once all are done or one has failed."""
        futures, states = self.all(), {"pending"}
        while "error" not in states and not states.isdisjoint(("pending", "lost")):
            await asyncio.sleep(0.01)
            states = {future.status for future in futures}
        return await self.watch.client.gather(self.futures)

    def lost(self, found: ClusterWorkers) -> bool:
        """Whether it may be stuck on a worker that is silent, or paused and not at work on it."""
        listed = self.asked.keys() & (found.there | found.silent)
        stuck = {address for address in listed if self.watch.unready(address, found)}
        alone = not isinstance(self.futures, list)  # one task: it is known where it is
        if not stuck or (alone and not self.watch.has(stuck, self.futures.key)):
            return False
        return bool(stuck & found.silent) or not self.watch.executing(self.all(), stuck)


def compute(Y: Any, tasks: list[Any]) -> list[Any]:
    """What delayed tasks on a dask array return, wherever dask computes them."""
    client = lazy.current_client()
    if client is None:
        return list(lazy.dask().compute(*tasks))

    def submit(**where: Any) -> Any:
        return afresh(client, Y, tasks, **where) if where else client.compute(tasks)

    found: list[Any] = Errand(Watch(client), submit).result()
    return found


def in_memory(Y: Any) -> Array:
    """The frames (C, M, N) of a dask array, which is chunked along frames alone."""
    return np.concatenate(compute(Y, list(Y.to_delayed().ravel())), axis=2)


def afresh(client: Any, Y: Any, tasks: list[Any], **where: Any) -> list[Any]:
    """Futures of tasks that were lost, each under a fresh key and with all that it is made of.

    So it waits for nothing that the scheduler believes to be on another worker, unless the array Y
    itself is there already.
    """
    if lazy.distributed().futures_of(Y):
        futures: list[Any] = client.compute(tasks, **where)
        return futures
    boxes = [Box(*lazy.dask().optimize(task)) for task in tasks]
    return [client.submit(unpacked, box, pure=False, **where) for box in boxes]


@dataclass(frozen=True)
class Box:
    """A task that dask does not look into."""

    task: Any


def unpacked(box: Box) -> Any:
    """What the task in a box returns, computed on the spot."""
    return box.task.compute(scheduler="sync")


def too_often(client: Any, lost: Exception) -> ConnectionError:
    """Why the same work is not begun once more."""
    cause = lost.__cause__ if isinstance(lost, Lost) else lost
    why = "" if cause is None else f" (the last time {type(cause).__name__}: {cause})"
    return ConnectionError(
        f"the Dask cluster at {address_of(client)} has lost one worker after the other with the"
        f" same work{why}: look into the logs of the workers, which mostly need more memory"
    )
