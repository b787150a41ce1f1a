"""Waiting for the workers of a Dask cluster, but not for ever.

A worker is there while its heartbeats reach the scheduler. It is ready if it also begins new work,
which a worker that is paused for want of memory does not. A computation may take as long as it
needs; what is limited is the time without heartbeats, and the time without a worker that is ready.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, NamedTuple

from phinmf.arrays import lazy

log = logging.getLogger("phinmf")
LIMIT = "60s"  #: without a heartbeat, or without a worker that is ready, if not phinmf.timeout
GRACE = 10.0  #: seconds that a paused worker has to become ready again if another one is ready
WARN = 5.0  #: seconds without a worker that is ready after which the log says so
LOOK = 1.0  #: seconds after which the scheduler is asked whether a worker is still there


class Lost(Exception):
    """A worker does not answer any more."""


class ClusterWorkers(NamedTuple):
    """The workers of a cluster, by their addresses."""

    ready: dict[str, int]  #: those that begin new work, and their threads
    there: set[str]  #: those that can be asked: ready or paused
    silent: set[str]  #: those that the scheduler lists, but whose heartbeats have stopped


class Watch:
    """What is known of the workers of a cluster, and since when."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.limit = limit()
        self.last = self.since = -1e9  #: when the scheduler was last asked, and since when often
        self.heard: dict[str, tuple[float, float]] = {}  #: last heartbeat, and when it was noticed
        self.was_ready: dict[str, float] = {}  #: when each worker was last heard to be ready
        self.warned = False
        self.broken: ConnectionError | None = None  #: the scheduler is lost
        with contextlib.suppress(Exception):  # if this is a task of a worker itself,
            lazy.distributed().secede()  # make room for the tasks that are waited for

    def look(self) -> ClusterWorkers:
        """Ask the scheduler for its workers."""
        listed, now = self.listed(), time.monotonic()
        if now - self.last > 10 * LOOK:  # what has happened meanwhile is not known
            self.since = now
        self.last = now
        found = ClusterWorkers({}, set(), set())
        for address, worker in listed.items():
            beat, noticed = self.heard.get(address, (None, now))
            if beat != worker["last_seen"]:  # by the clock of the scheduler
                noticed = now
            self.heard[address] = worker["last_seen"], noticed
            if now - noticed > self.limit:
                found.silent.add(address)
                continue
            found.there.add(address)
            if worker["status"] == "running":
                found.ready[address] = worker["nthreads"]
                self.was_ready[address] = noticed
        return found

    def listed(self) -> dict[str, Any]:
        """What the scheduler knows of each worker."""
        if self.broken is not None:
            raise self.broken
        try:
            ask = self.client.scheduler.identity
            known: dict[str, Any] = self.client.sync(ask, callback_timeout=self.limit)["workers"]
        except Exception as error:
            self.broken = ConnectionError(
                f"the Dask scheduler at {address_of(self.client)} does not answer any more"
                f" ({error!r}): start another cluster and resume from a checkpoint"
            )
            raise self.broken from error
        return known

    def ready(self, pending: Sequence[Any] = ()) -> dict[str, int]:
        """Threads of each worker that is ready; if there is none, wait for one up to the limit.

        If a worker still computes one of the pending futures, there is no need for another.
        """
        while not (found := self.look()).ready:
            waited = time.monotonic() - max([self.since, *self.was_ready.values()])
            if waited > self.limit:
                if self.executing(pending):
                    return {}
                raise ConnectionError(self.missing(found, waited))
            if waited > min(WARN, self.limit / 2) and not self.warned:
                self.warned = True
                log.warning("%s", self.missing(found, waited))
            time.sleep(min(0.2, self.limit / 10))
        self.warned = False
        return found.ready

    def unready(self, address: str, found: ClusterWorkers) -> bool:
        """Whether a worker is lost, or has been paused for some time while another one is ready."""
        if address in found.ready or (address in found.there and not found.ready):
            return False
        paused = time.monotonic() - max(self.since, self.was_ready.get(address, self.since))
        return address not in found.there or paused > min(GRACE, self.limit / 2)

    def missing(self, found: ClusterWorkers, waited: float) -> str:
        """What the cluster needs."""
        where = address_of(self.client)
        if not (found.there or found.silent):
            return (
                f"the Dask cluster at {where} has had no workers for {waited:.0f} s: start some"
                f" with dask worker {where}"
            )
        paused, silent = len(found.there), len(found.silent)
        more = ", or let the paused ones have more memory" if paused else ""
        return (
            f"no worker of the Dask cluster at {where} has begun any work for {waited:.0f} s: 0 are"
            f" running, {paused} paused for want of memory, {silent} silent; start others with dask"
            f" worker {where}{more}"
        )

    def executing(self, futures: Sequence[Any], where: Iterable[str] | None = None) -> bool:
        """Whether a worker, though it begins nothing new, is computing one of these."""

        async def stacks() -> Any:
            return await self.client.call_stack(list(futures))

        if not futures:
            return False
        try:
            found = self.client.sync(stacks, callback_timeout=self.limit)
        except Exception:  # nobody can say so
            return False
        return any(found.get(address) for address in (found if where is None else where))

    def has(self, addresses: set[str], key: Any) -> bool:
        """Whether one of these workers was given a task."""

        async def processing() -> Any:
            return await self.client.processing(list(addresses))

        try:
            given = self.client.sync(processing, callback_timeout=self.limit)
        except Exception:  # the next look says what is wrong
            return False
        return any(key in keys for keys in given.values())

    def begin(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine on the loop of the client."""
        return asyncio.run_coroutine_threadsafe(work, self.client.loop.asyncio_loop)

    def result(
        self,
        begun: Any,
        lost: Callable[[ClusterWorkers], bool],
        pending: Sequence[Any] | None = None,
    ) -> Any:
        """What a coroutine returns, unless the worker it asks is lost.

        If it waits for futures that are pending, some worker has to be ready meanwhile.
        """
        try:
            while True:
                try:
                    return begun.result(timeout=min(LOOK, self.limit / 4))
                except TimeoutError:
                    if begun.done():
                        raise
                except (concurrent.futures.CancelledError, asyncio.CancelledError) as error:
                    raise Lost from error
                if lost(self.look()):
                    raise Lost
                if pending is not None:
                    self.ready(pending)
        finally:
            begun.cancel()

    def ask(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """What a function returns, or raises, on each worker that is ready and stays there."""
        asked = {}
        for address in self.ready():

            async def answer(where: str = address) -> Any:
                try:
                    found = await self.client.run(
                        function, *args, workers=[where], on_error="return"
                    )
                except OSError as error:
                    return error
                return found[where]

            asked[address] = self.begin(answer())
        answers = {}
        for address, begun in asked.items():
            with contextlib.suppress(Lost):
                answers[address] = self.result(begun, without(address))
        if any(isinstance(found, OSError) for found in answers.values()):
            self.look()  # is the scheduler lost, too?
        return {a: found for a, found in answers.items() if not isinstance(found, OSError)}


def without(address: str) -> Callable[[ClusterWorkers], bool]:
    """What needs this worker is lost if it is not there."""
    return lambda found: address not in found.there


def limit() -> float:
    """Seconds to wait for a worker that is ready, or for a sign of life."""
    dask = lazy.dask()
    given = dask.config.get("phinmf.timeout", LIMIT)
    try:
        seconds = float(dask.utils.parse_timedelta(given))
    except (AttributeError, KeyError, TypeError, ValueError):
        seconds = 0.0
    if not seconds > 0:
        raise ValueError(f"phinmf.timeout is {given!r}, but some time is needed, such as 60s")
    return seconds


def address_of(client: Any) -> str:
    """Where the scheduler of a client is, or was."""
    return str(getattr(client.scheduler, "address", "its last address"))
