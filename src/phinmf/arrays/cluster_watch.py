"""Waiting for the workers of a Dask cluster, with time limits.

A worker is present while its heartbeats reach the scheduler. It is ready if it also starts new
tasks, which a worker does not while it is paused because its memory is nearly full. A computation
may take as long as it needs. Limited are the time without a heartbeat of a worker, and the time
without any worker that is ready.
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
LIMIT = "60s"  #: default of phinmf.timeout in dask's configuration: both time limits
GRACE = 10.0  #: seconds that a paused worker may take to be ready again if another one is ready
WARN = 5.0  #: seconds without a worker that is ready after which a warning is logged
LOOK = 1.0  #: seconds between two questions to the scheduler whether a worker is still present


class Lost(Exception):
    """A worker no longer answers."""


class ClusterWorkers(NamedTuple):
    """The workers of a cluster, by their addresses."""

    ready: dict[str, int]  #: those that start new tasks, and their numbers of threads
    there: set[str]  #: those that are present: ready or paused
    silent: set[str]  #: those that the scheduler lists, but whose heartbeats have stopped


class Watch:
    """Observes the workers of a cluster, and waits for them."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.limit = limit()
        self.last = -1e9  #: when the scheduler was last asked
        self.since = -1e9  #: since when it has been asked without long pauses
        self.heard: dict[str, tuple[float, float]] = {}  #: last heartbeat, and when it was noticed
        self.was_ready: dict[str, float] = {}  #: when each worker was last known to be ready
        self.warned = False
        self.broken: ConnectionError | None = None  #: why the scheduler cannot be asked any more
        with contextlib.suppress(Exception):
            # if this code is itself a task of a worker, the tasks that it waits for need its thread
            lazy.distributed().secede()

    def look(self) -> ClusterWorkers:
        """Ask the scheduler for its workers."""
        listed, now = self.listed(), time.monotonic()
        if now - self.last > 10 * LOOK:  # nothing is known about the time between
            self.since = now
        self.last = now
        found = ClusterWorkers({}, set(), set())
        for address, worker in listed.items():
            beat, noticed = self.heard.get(address, (None, now))
            if beat != worker["last_seen"]:  # a time of the scheduler's clock
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
        """Return what the scheduler knows about each worker."""
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
        """Return the number of threads of each worker that is ready.

        If there is none, wait for one up to the time limit. No worker needs to be ready if one
        still computes one of the pending futures.
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
        """Whether a worker is lost, or paused for long while another one is ready."""
        if address in found.ready or (address in found.there and not found.ready):
            return False
        paused = time.monotonic() - max(self.since, self.was_ready.get(address, self.since))
        return address not in found.there or paused > min(GRACE, self.limit / 2)

    def missing(self, found: ClusterWorkers, waited: float) -> str:
        """Return the message that no worker is ready, and what to do."""
        where = address_of(self.client)
        if not (found.there or found.silent):
            return (
                f"the Dask cluster at {where} has had no workers for {waited:.0f} s: start some"
                f" with dask worker {where}"
            )
        paused, silent = len(found.there), len(found.silent)
        more = ", or give the paused ones more memory" if paused else ""
        return (
            f"no worker of the Dask cluster at {where} has started any task for {waited:.0f} s: 0"
            f" are running, {paused} paused because they lack memory, {silent} silent; start others"
            f" with dask worker {where}{more}"
        )

    def executing(self, futures: Sequence[Any], where: Iterable[str] | None = None) -> bool:
        """Whether a worker, of these if given, is computing one of the futures."""

        async def stacks() -> Any:
            return await self.client.call_stack(list(futures))

        if not futures:
            return False
        try:
            found = self.client.sync(stacks, callback_timeout=self.limit)
        except Exception:  # it is not known
            return False
        return any(found.get(address) for address in (found if where is None else where))

    def has(self, addresses: set[str], key: Any) -> bool:
        """Whether the scheduler has assigned a task to one of these workers."""

        async def processing() -> Any:
            return await self.client.processing(list(addresses))

        try:
            given = self.client.sync(processing, callback_timeout=self.limit)
        except Exception:  # the next `look` raises it if the scheduler is lost
            return False
        return any(key in keys for keys in given.values())

    def begin(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine on the event loop of the client, and return its future."""
        return asyncio.run_coroutine_threadsafe(work, self.client.loop.asyncio_loop)

    def result(
        self,
        begun: Any,
        lost: Callable[[ClusterWorkers], bool],
        pending: Sequence[Any] | None = None,
    ) -> Any:
        """Wait for a coroutine and return its result; raise `Lost` if its worker is lost.

        `lost` says so, given the workers. If the coroutine waits for pending futures, a worker has
        to be ready in the meantime.
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
        """Call a function on each worker that is ready.

        Return what it returns or raises, by address; workers that are lost on the way are left out.
        """
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
            self.look()  # raises if the scheduler is lost, too
        return {a: found for a, found in answers.items() if not isinstance(found, OSError)}


def without(*addresses: str) -> Callable[[ClusterWorkers], bool]:
    """Return a function that says, given the workers, whether one of these is lost."""
    return lambda found: not found.there.issuperset(addresses)


def limit() -> float:
    """Return the time limit in seconds: ``phinmf.timeout`` of dask's configuration."""
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
    """Return the address of the scheduler of a client, if it is still known."""
    return str(getattr(client.scheduler, "address", "its last address"))
