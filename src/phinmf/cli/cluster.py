"""``phinmf unmix --cluster``: each file is one task on a worker of a Dask cluster."""

from __future__ import annotations

import logging
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from phinmf.cli.grouping import lines
from phinmf.cli.text import shown

if TYPE_CHECKING:
    from phinmf.unmix_file import Request
    from phinmf.unmixing.record import FolderRecord

CONNECT = 10.0  #: maximum number of seconds to wait for a scheduler


@contextmanager
def on_cluster(
    address: str, quiet: bool
) -> Iterator[Callable[[Request], Callable[[], FolderRecord]]]:
    """Yield a function that lets a worker unmix a file; its result waits for the record."""
    from phinmf.arrays.cluster import Cluster, versions

    with connected(address) as client:
        for name in [*logging.root.manager.loggerDict]:
            if name.startswith(("distributed", "asyncio")):  # our own messages are clearer
                logging.getLogger(name).setLevel(logging.CRITICAL)
        cluster = Cluster(client)

        def started(request: Request) -> Callable[[], FolderRecord]:
            shared = absolute(request)
            future = client.submit(on_worker, shared, expected=versions(), pure=False)

            def result() -> FolderRecord:
                record: FolderRecord = cluster.results([future])[0]
                check_shared(shared)
                if not quiet:
                    describe(request, record)
                return record

            return result

        yield started


def connected(address: str) -> Any:
    """Return a client of the cluster whose scheduler has this address.

    It is made in another thread, because its timeout has no effect if a program listens at the
    address but never answers.
    """
    from phinmf.arrays import lazy

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


def absolute(request: Request) -> Request:
    """Return the same request with absolute paths, which are the same on every worker."""
    output, recording = request.output, request.recording
    return replace(
        request,
        recording=replace(recording, sound=replace(recording.sound, path=request.path.absolute())),
        output=replace(
            output,
            folder=output.folder.absolute(),
            keep=tuple(path.absolute() for path in output.keep),
        ),
        model=None if request.model is None else request.model.absolute(),
    )


def on_worker(request: Request, expected: dict[str, str]) -> FolderRecord:
    """Unmix a file on a worker; its files share the processors, and each thread unmixes one."""
    from phinmf.arrays import lazy, threads
    from phinmf.arrays.cluster import check_versions
    from phinmf.unmix_file import unmix_file

    check_versions(expected)
    worker = lazy.distributed().get_worker()
    if not request.path.exists():
        raise FileNotFoundError(
            f"{request.path} does not exist on worker {worker.address}: put it on a disk that all"
            " machines share, at the same path"
        )
    n = request.options.n_threads or max(1, threads.available() // worker.state.nthreads)
    recording, options = request.recording.on_this_machine(), replace(request.options, n_threads=n)
    return unmix_file(replace(request, recording=recording, options=options))


def check_shared(request: Request) -> None:
    """Raise if the folder that a worker has written is not on a disk of this machine."""
    folder = request.output.folder
    if not folder.exists():
        raise RuntimeError(
            f"a worker has written {folder}, which does not exist on this machine: choose an"
            " --output on a disk that all machines share"
        )


def describe(request: Request, record: FolderRecord) -> None:
    """Print to standard error what a worker has written."""
    from phinmf.unmixing.null_test import adds_up

    folder, name = request.output.folder, shown(request.path.name)
    first = f"{len(record.components)} components in {shown(folder)}; {adds_up(record)}"
    for line in (first, *lines(folder, record)):
        print(f"{name}: {line}", file=sys.stderr)
