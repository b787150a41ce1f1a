"""Fits on clusters of one-thread worker processes on this machine, observed from outside.

Bytes and messages are counted on the connections themselves, so that any version of phinmf can be
measured in the same way.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from distributed.comm.tcp import TCP

import phinmf

NO_TREE = 10**6  #: workers from which a tree is used
HOW = {
    "n_components": 10,
    "sparsity": 150,
    "method": phinmf.Method(anneal=False),
    "tol": 0,
    "random_state": 0,
}
COUNTED = {"messages": 0, "written": 0, "read": 0}  #: of this process


def count() -> None:
    """Count the calls of shards that this process sends, and the bytes it sends and reads."""
    write, read = TCP.write, TCP.read

    async def counted_write(self: Any, msg: Any, *args: Any, **how: Any) -> Any:
        COUNTED["messages"] += isinstance(msg, dict) and msg.get("op") == "actor_execute"
        n = await write(self, msg, *args, **how)
        COUNTED["written"] += n or 0
        return n

    async def counted_read(self: Any, *args: Any, **how: Any) -> Any:
        msg = await read(self, *args, **how)
        COUNTED["read"] += bytes_in(msg)
        return msg

    TCP.write, TCP.read = counted_write, counted_read


def counted() -> dict[str, float]:
    """Return what this process has counted, and its processor time."""
    return {**COUNTED, "processor": time.process_time()}


def bytes_in(message: Any) -> int:
    """Return the bytes of all arrays in a message."""
    if isinstance(message, np.ndarray):
        return message.nbytes
    if isinstance(message, dict):
        message = list(message.values())
    return sum(map(bytes_in, message)) if isinstance(message, (list, tuple)) else 0


def serve(n_workers: int, pipe: Connection) -> None:
    """Hold a scheduler and its workers until the pipe says something."""
    how = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(n_workers=n_workers, processes=True, **how) as local:
        pipe.send(local.scheduler_address)
        pipe.recv()


@contextmanager
def client_of(n_workers: int) -> Iterator[Client]:
    """A client of worker processes with one thread each, which count; all beside this process."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=serve, args=(n_workers, there))
    process.start()
    with Client(here.recv(), set_as_default=False) as client:
        client.wait_for_workers(n_workers, timeout=120)
        client.run(count)
        yield client
    here.send("end")
    process.join()


class Measured(NamedTuple):
    """A fit, from the end of its first outer iteration on."""

    result: phinmf.Result
    seconds: list[float]  #: of each outer iteration
    client: float  #: processor seconds of the client, per outer iteration
    busiest: float  #: those of the busiest worker
    messages: float  #: that the client sends, per evaluation
    through_client: float  #: bytes that it sends and receives, per evaluation
    everywhere: float  #: bytes that all processes send, per evaluation

    @property
    def processor(self) -> float:
        """Processor seconds of an outer iteration if nobody else were there."""
        return self.client + self.busiest


def fit(client: Client, Y: da.Array, iterations: int, tree: bool, **how: object) -> Measured:
    """Fit on a cluster, and look at all processes after the first and the last iteration."""
    seconds, looks, looking = [], [], 0.0

    def look(state: phinmf.State) -> None:
        nonlocal looking
        begun = time.perf_counter()
        seconds.append(state.history[-1].seconds - looking)  # which is no part of the fit
        if state.iteration in (1, iterations):
            here, there = counted(), client.run(counted)
            looks.append((state.history[-1].evaluations, here, there))
        looking += time.perf_counter() - begun

    with client.as_current(), dask.config.set({"phinmf.tree": 2 if tree else NO_TREE}):
        result = phinmf.tl_nmf(Y, max_iter=iterations, callback=look, **HOW | how)
    (before, here, there), (after, here_after, there_after) = looks
    evaluations, n = after - before, iterations - 1

    def change(name: str) -> float:
        return here_after[name] - here[name]

    def changes(name: str) -> list[float]:
        return [there_after[address][name] - there[address][name] for address in there]

    return Measured(
        result,
        list(np.diff(seconds)),
        change("processor") / n,
        max(changes("processor")) / n,
        change("messages") / evaluations,
        (change("written") + change("read")) / evaluations,
        (change("written") + sum(changes("written"))) / evaluations,
    )
