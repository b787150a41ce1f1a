"""Runs on the workers of a Dask cluster: only what is summed over frames travels.

Each run is an actor on one worker, spoken to directly. When a worker is lost, its run is made
again on another one, from the source of its frames and the journal: with the same bits.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from phinmf._types import Array
from phinmf.arrays import errands, lazy, patience
from phinmf.arrays.lazy import is_lazy
from phinmf.arrays.patience import Lost, Watch
from phinmf.arrays.threads import Workers
from phinmf.engines.blocked.shard import Run
from phinmf.engines.blocked.share import Share
from phinmf.engines.remote.connection import check_workers
from phinmf.engines.remote.journal import CHANGES, Change, Journal
from phinmf.engines.remote.source import joined, pieces

log = logging.getLogger("phinmf")


class Part:
    """A run in the process of a worker, with threads of its own."""

    def __init__(
        self, parts: list[Array] | None, shape: Any, dtype: Any, n_threads: int, share: Share
    ) -> None:
        self.workers = Workers(n_threads)
        self.workers.__enter__()
        weakref.finalize(self, self.workers.__exit__)
        self.shape, self.dtype = shape, dtype
        self.share = replace(share, weights=own(share.weights))
        if parts is not None:
            self.hold(parts)

    def hold(self, parts: list[Array]) -> None:
        """Make the run of its frames, which the client sends if they are not a dask array."""
        self.run = Run(joined(parts, self.shape, self.dtype), self.share, self.workers)

    def ask(self, name: str, *args: Any) -> Any:
        """Ask the run; its errors come back as an answer, those of dask mean a lost worker."""
        try:
            asked = self if name == "hold" else self.run
            return getattr(asked, name)(*map(own, args))
        except Exception as error:
            return Failure(error)


@dataclass(frozen=True)
class Failure:
    """An error of a run."""

    error: Exception


def own(value: Any) -> Any:
    """A copy of an array as it came from the network: read-only, and aligned to nothing.

    Compiled code takes such an array for another type, and may order its sums otherwise.
    """
    return value.copy(order="K") if isinstance(value, np.ndarray) else value


class Cluster:
    """One run on each worker."""

    def __init__(self, watch: Watch, source: Any, dtype: Any, shares: list[Share]) -> None:
        self.watch = watch
        self.client = watch.client
        self.source = source
        self.dtype = dtype
        self.shares = shares  #: one for each run
        self.journal = Journal()
        self.remade: set[int] = set()  #: runs that do not hold the last trial point
        self.travelled: Counter[str] = Counter()  #: bytes of arrays, by what was asked
        self.threads = watch.ready()  #: of each worker that was ready when last asked
        order = sorted(self.threads)
        self.at = [order[i % len(order)] for i in range(len(shares))]
        self.actors = [self.begin(i) for i in range(len(shares))]
        for i in range(len(shares)):
            try:
                self.finish(i, order)
            except Lost as lost:
                self.again(i, [], lost)

    def close(self) -> None:
        """Let the workers forget their runs."""
        self.actors = []

    # making runs

    def begin(self, i: int, afresh: bool = False) -> Any:
        """Have a run made where it belongs, maybe from frames under fresh keys."""
        frames, where = self.shares[i].frames, [self.at[i]]
        parts: Any = None
        if is_lazy(self.source):
            compute = self.client.compute
            if afresh:
                compute = partial(errands.afresh, self.client, self.source)
            parts = compute(pieces(self.source, frames), workers=where, allow_other_workers=True)
        return self.client.submit(
            Part, parts, self.shape(i), self.dtype, self.threads[self.at[i]], self.shares[i],
            actor=True, workers=where, pure=False,
        )  # fmt: skip

    def shape(self, i: int) -> tuple[int, int, int]:
        """The shape (C, n, M) of the frames of a run."""
        C, M, _ = self.source.shape
        return C, len(self.shares[i].weights), M

    def finish(self, i: int, helpers: Sequence[str] = ()) -> None:
        """Wait until a run is made; chunks that other runs need, too, may come from helpers."""
        actor = self.actors[i]

        async def made() -> None:
            while actor.status in ("pending", "lost"):
                await asyncio.sleep(0.01)

        def lost(found: patience.Workers) -> bool:
            return any(self.watch.unready(address, found) for address in (self.at[i], *helpers))

        try:
            self.watch.result(self.watch.begin(made()), lost, [actor])
        except Lost:
            if not helpers or self.watch.unready(self.at[i], self.watch.look()):
                raise
            self.actors[i] = self.begin(i, afresh=True)
            self.finish(i)
            return
        failed = actor.exception() if actor.status == "error" else None
        if failed is not None and not of_a_lost_worker(failed):
            raise failed
        if actor.status != "finished":
            raise Lost(self.at[i]) from failed
        if not is_lazy(self.source):
            Y = self.source[:, :, self.shares[i].frames]
            self.wait(i, self.call(i, "hold", ([Y],)))

    def settle_elsewhere(self, i: int) -> None:
        """Begin a lost run again on the worker that has the fewest."""
        gone, self.actors[i] = self.at[i], None  # the scheduler would wait for its worker
        self.threads = self.watch.ready()
        # it may be there again, or only seemed lost
        others = self.threads.keys() - {gone} or set(self.threads)
        self.at[i] = min(others, key=lambda address: (self.at.count(address), address))
        log.warning("worker %s is lost: its frames go to %s", gone, self.at[i])
        check_workers(self.watch)
        self.actors[i] = self.begin(i, afresh=True)
        self.finish(i)

    def again(self, i: int, asked: list[Change], lost: Lost) -> Any:
        """Make a lost run again, do what was done to it, and ask what it did not answer."""
        frames, answer = self.shares[i].frames, None
        for _ in range(errands.ATTEMPTS):
            try:
                self.settle_elsewhere(i)
                for step in [*self.journal.changes, *asked]:
                    answer = self.wait(i, self.call(i, step.name, step.arguments(frames)))
            except Lost as error:
                lost = error
            else:
                return answer
        raise errands.too_often(self.client, lost)

    # asking

    def ask(self, change: Change, sent: tuple[Any, ...] | None = None) -> list[Any]:
        """The answer of each run; `sent` are shorter arguments for those that know the rest."""
        if change.name in CHANGES:
            self.journal.note(change)
        if change.name == "at":
            self.remade.clear()
        short = change if sent is None else change._replace(args=sent)
        asked = [
            self.call(i, change.name, (change if i in self.remade else short).arguments(p.frames))
            for i, p in enumerate(self.shares)
        ]
        answers: list[Any] = []
        for i, answer in enumerate(asked):
            try:
                answers.append(self.wait(i, answer))
            except Lost as lost:
                asked_again = [] if change.name in CHANGES else [change]  # or it is in the journal
                answers.append(self.again(i, asked_again, lost))
                if change.name != "at":
                    self.remade.add(i)
        if change.name == "activations":
            self.journal.know(np.concatenate(answers))
        return answers

    def wait(self, i: int, answer: Future[Any]) -> Any:
        """An answer that was asked for, unless its worker is lost."""
        return self.watch.result(answer, patience.without(self.at[i]))

    def call(self, i: int, name: str, args: tuple[Any, ...]) -> Future[Any]:
        """Send a question to a run; the future has its answer."""
        serialised = lazy.distributed().protocol.to_serialize
        address, key = self.at[i], self.actors[i].key
        self.travelled[name] += size(args)

        async def answer() -> Any:
            try:
                reply = await self.client.rpc(address).actor_execute(
                    function="ask", actor=key, args=[serialised(a) for a in (name, *args)],
                    kwargs={},
                )  # fmt: skip
            except Exception as error:
                raise Lost(address) from error
            if reply["status"] != "OK":  # the worker is about to close
                raise Lost(address) from reply["exception"]
            if isinstance(reply["result"], Failure):
                raise reply["result"].error
            self.travelled[name] += size(reply["result"])
            return reply["result"]

        return self.watch.begin(answer())


def of_a_lost_worker(error: BaseException) -> bool:
    """Whether an error is the scheduler's word that a run went with its worker."""
    killed = isinstance(error, lazy.distributed().KilledWorker)
    return killed or (isinstance(error, RuntimeError) and "Actor was lost" in str(error))


def size(value: Any) -> int:
    """Bytes of all arrays in nested lists and tuples."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(size(v) for v in value) if isinstance(value, (list, tuple)) else 0
