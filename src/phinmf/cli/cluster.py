"""``phinmf unmix --cluster``: each file is one task on a worker of a Dask cluster."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from phinmf.arrays import lazy, threads
from phinmf.arrays.cluster import Cluster, check_versions, versions
from phinmf.unmix_file import Request, unmix_file
from phinmf.unmixing.listing import FolderRecord

CONNECT = 10.0  #: maximum number of seconds to wait for a scheduler


@contextmanager
def on_cluster(address: str) -> Iterator[Callable[[Request], Callable[[], FolderRecord]]]:
    """Yield a function that lets a worker unmix a file; its result waits for the record.

    Paths of a request must be absolute: they are the same on every worker.
    """
    with connected(address) as client:
        for name in [*logging.root.manager.loggerDict]:
            if name.startswith(("distributed", "asyncio")):  # our own messages are clearer
                logging.getLogger(name).setLevel(logging.CRITICAL)
        cluster = Cluster(client)

        def start(request: Request) -> Callable[[], FolderRecord]:
            future = cluster.submit(on_worker, request, versions())

            def result() -> FolderRecord:
                record: FolderRecord = cluster.results([future])[0]
                if not request.output.folder.exists():
                    raise FileNotFoundError(
                        f"a worker has written {request.output.folder}, which does not exist on"
                        " this machine: choose an --output on a disk that all machines share"
                    )
                return record

            return result

        yield start


def connected(address: str) -> Any:
    """Return a client of the cluster whose scheduler has this address.

    It is made in another thread, because its timeout has no effect if a program listens at the
    address but never answers.
    """
    Client, outcomes = lazy.distributed().Client, queue.SimpleQueue[Any]()

    def attempt() -> None:
        try:
            outcomes.put(Client(address, timeout=CONNECT))
        except (TimeoutError, OSError, ValueError) as error:
            outcomes.put(error)

    threading.Thread(target=attempt, daemon=True).start()
    try:
        client = outcomes.get(timeout=1.2 * CONNECT)
    except queue.Empty as error:
        client = error
    if isinstance(client, Exception):
        raise ConnectionError(
            f"no Dask scheduler answers at {address} within {CONNECT:g} s: start one with dask"
            " scheduler, and pass the address that it prints, such as tcp://10.0.0.1:8786"
        ) from client
    return client


def on_worker(request: Request, expected: dict[str, str]) -> FolderRecord:
    """Unmix a file on a worker; its files share the processors, and each thread unmixes one."""
    check_versions(expected)
    worker = lazy.distributed().get_worker()
    if not request.path.exists():
        raise FileNotFoundError(
            f"{request.path} does not exist on worker {worker.address}: put it on a disk that all"
            " machines share, at the same path"
        )
    n = request.options.n_threads or max(1, threads.available() // worker.state.nthreads)
    return unmix_file(replace(request, options=replace(request.options, n_threads=n)))
