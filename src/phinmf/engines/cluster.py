"""Runs on the workers of a Dask cluster: only what is summed over frames travels.

Each run is an actor on one worker, spoken to directly. When a worker is lost, its run is made
again on another one, from the source of its frames and the journal: with the same bits.
"""

from __future__ import annotations

import asyncio
import logging
import pydoc
import weakref
from collections import Counter
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import numpy as np

import phinmf
from phinmf import lazy
from phinmf._types import Array
from phinmf.engines.journal import CHANGES, Change, Journal
from phinmf.engines.run import Run
from phinmf.engines.share import Share
from phinmf.engines.source import joined, pieces
from phinmf.lazy import is_lazy, members
from phinmf.threads import Workers

log = logging.getLogger("phinmf")
CONNECT = 10.0  #: seconds to wait for a scheduler
LOOK = 1.0  #: seconds after which it is asked whether a worker is still there


class Part:
    """A run in the process of a worker, with threads of its own."""

    def __init__(
        self, parts: list[Array], shape: Any, dtype: Any, n_threads: int, share: Share
    ) -> None:
        workers = Workers(n_threads)
        workers.__enter__()
        weakref.finalize(self, workers.__exit__)
        share = replace(share, weights=own(share.weights))
        self.run = Run(joined(parts, shape, dtype), share, workers)

    def ask(self, name: str, *args: Any) -> Any:
        """Ask the run."""
        return getattr(self.run, name)(*map(own, args))


def own(value: Any) -> Any:
    """A copy of an array as it came from the network: read-only, and aligned to nothing.

    Compiled code takes such an array for another type, and may order its sums otherwise.
    """
    return value.copy(order="K") if isinstance(value, np.ndarray) else value


class Lost(Exception):
    """A worker does not answer any more."""


class Cluster:
    """One run on each worker."""

    def __init__(self, client: Any, source: Any, dtype: Any, shares: list[Share]) -> None:
        self.client = client
        self.source = source
        self.dtype = dtype
        self.shares = shares  #: one for each run
        self.journal = Journal()
        self.remade: set[int] = set()  #: runs that do not hold the last trial point
        self.travelled: Counter[str] = Counter()  #: bytes of arrays, by what was asked
        threads = members(client)
        order = sorted(threads)
        self.at = [order[i % len(order)] for i in range(len(shares))]
        self.actors = [self.begin(i) for i in range(len(shares))]
        for i in range(len(shares)):
            self.finish(i)

    def close(self) -> None:
        """Let the workers forget their runs."""
        self.actors = []

    # making runs

    def begin(self, i: int) -> Any:
        """Have a run made where it belongs."""
        frames, where = self.shares[i].frames, [self.at[i]]
        shape = (self.source.shape[0], frames.stop - frames.start, self.source.shape[1])
        cut = pieces(self.source, frames)
        if is_lazy(self.source):
            here = self.client.compute(cut, workers=where, allow_other_workers=True)
        else:
            here = self.client.scatter(cut, workers=where, hash=False)
        n_threads = members(self.client).get(self.at[i], 1)
        return self.client.submit(
            Part, here, shape, self.dtype, n_threads, self.shares[i],
            actor=True, workers=where, pure=False,
        )  # fmt: skip

    def finish(self, i: int) -> None:
        """Wait for a run; if its worker is lost meanwhile, for another one."""
        wait = lazy.distributed().wait
        while True:
            try:
                wait(self.actors[i], timeout=2)
            except TimeoutError:
                if self.at[i] in members(self.client):
                    continue
            else:
                if self.actors[i].status == "finished":
                    return
                if self.at[i] in members(self.client):
                    raise self.actors[i].exception()
            self.settle_elsewhere(i)

    def settle_elsewhere(self, i: int) -> None:
        """Begin a lost run again on the worker that has the fewest."""
        gone = self.at[i]
        there = set(members(self.client))
        others = there - {gone} or there  # a worker may be there again, or only seemed lost
        self.at[i] = min(others, key=lambda address: (self.at.count(address), address))
        log.warning("worker %s is lost: its frames go to %s", gone, self.at[i])
        self.actors[i] = None  # the scheduler would wait for its worker
        self.actors[i] = self.begin(i)

    def again(self, i: int, change: Change) -> Any:
        """Make a lost run again, do what was done to it, and ask what it did not answer."""
        while True:
            self.settle_elsewhere(i)
            self.finish(i)
            frames = self.shares[i].frames
            done = [*self.journal.changes]
            if change.name not in CHANGES:
                done.append(change)
            try:
                for step in done:
                    answer = self.wait(i, self.call(i, step.name, step.arguments(frames)))
            except Lost:
                continue
            return answer

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
            except Lost:
                answers.append(self.again(i, change))
                if change.name != "at":
                    self.remade.add(i)
        if change.name == "activations":
            self.journal.know(np.concatenate(answers))
        return answers

    def wait(self, i: int, answer: Future[Any]) -> Any:
        """An answer that was asked for, unless the scheduler has given up its worker."""
        while True:
            try:
                return answer.result(timeout=LOOK)
            except TimeoutError:
                if answer.done():
                    return answer.result()
                if self.at[i] in members(self.client):
                    continue
            answer.cancel()
            raise Lost(self.at[i])

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
            except Exception as error:  # our own come back as a reply
                raise Lost(address) from error
            if reply["status"] != "OK":
                raise reply["exception"]
            self.travelled[name] += size(reply["result"])
            return reply["result"]

        return asyncio.run_coroutine_threadsafe(answer(), self.client.loop.asyncio_loop)


def connect(address: str) -> Any:
    """A client of the cluster at an address."""
    distributed = lazy.distributed()
    try:
        return distributed.Client(address, timeout=CONNECT)
    except (TimeoutError, OSError, ValueError) as error:
        raise ConnectionError(
            f"no Dask scheduler answers at {address} within {CONNECT:g} s: start one with dask"
            " scheduler, and pass the address that it prints, such as tcp://10.0.0.1:8786"
        ) from error


def size(value: Any) -> int:
    """Bytes of all arrays in nested lists and tuples."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(size(v) for v in value) if isinstance(value, (list, tuple)) else 0


def check_workers(client: Any) -> None:
    """Refuse workers that do not have this very package."""
    found = client.run(pydoc.locate, "phinmf.__version__", on_error="return")
    for address, there in found.items():
        if there != phinmf.__version__:
            what = f"phinmf {there}" if isinstance(there, str) else "no phinmf"
            raise ImportError(
                f"worker {address} has {what}, but phinmf {phinmf.__version__} is needed as it is"
                f' here: install it there with pip install "phinmf[dask]=={phinmf.__version__}"'
            )
