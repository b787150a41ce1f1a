"""``phinmf unmix --cluster``: files on the workers of a Dask cluster."""

from __future__ import annotations

import argparse
import logging
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phinmf.cli.grouping import lines
from phinmf.cli.one_file import unmix_one
from phinmf.cli.text import shown

if TYPE_CHECKING:
    from phinmf.arrays.cluster import Cluster
    from phinmf.unmix_file import Request
    from phinmf.unmixing.record import FolderRecord

CONNECT = 10.0  #: maximum number of seconds to wait for a scheduler


def tasks(
    requests: list[Request], typed: argparse.Namespace
) -> Iterator[tuple[Request, Callable[[], FolderRecord]]]:
    """Yield a function for each file: all workers share one file, or each unmixes some files."""
    from phinmf.arrays.cluster import Cluster, versions

    with connected(typed.cluster) as client:
        for name in [*logging.root.manager.loggerDict]:
            if name.startswith(("distributed", "asyncio")):  # our own messages are clearer
                logging.getLogger(name).setLevel(logging.CRITICAL)
        cluster = Cluster(client)
        requests = [absolute(request) for request in requests]
        check_readable(client, [request.path for request in requests])
        if len(requests) == 1:
            request = replace(requests[0], on_cluster=True)
            yield request, partial(unmix_one, request, typed.quiet)
            return
        submit = partial(client.submit, on_worker, expected=versions(), pure=False)
        futures = [submit(request) for request in requests]
        for request, future in zip(requests, futures, strict=True):
            yield request, partial(outcome, request, cluster, future, typed.quiet)


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

    check_versions(expected)
    files = lazy.distributed().get_worker().state.nthreads
    n = request.options.n_threads or max(1, threads.available() // files)
    local = replace(
        request,
        recording=request.recording.on_this_machine(),
        options=replace(request.options, n_threads=n),
    )
    return unmix_one(local, quiet=True)


def outcome(request: Request, cluster: Cluster, future: Any, quiet: bool) -> FolderRecord:
    """Wait until a worker has unmixed a file, and return its record."""
    from phinmf.unmixing.null_test import adds_up

    record: FolderRecord = cluster.results([future])[0]
    folder = request.output.folder
    if not folder.exists():
        raise RuntimeError(
            f"a worker has written {folder}, which does not exist on this machine: choose an"
            " --output on a disk that all machines share"
        )
    if not quiet:
        K = len(record.components)
        text = f"{request.path.name}: {K} components in {folder}; {adds_up(record)}"
        print(shown(text), file=sys.stderr)  # standard output is only for results
        for line in lines(folder, record):
            print(f"{shown(request.path.name)}: {line}", file=sys.stderr)
    return record


def check_readable(client: Any, paths: list[Path]) -> None:
    """Raise if a worker cannot find a file that exists on this machine."""
    paths = [path for path in paths if path.exists()]
    for address, absent in client.run(missing, paths).items():
        for path in absent:
            raise FileNotFoundError(
                f"{path} does not exist on worker {address}: put it on a disk that all machines"
                " share, at the same path"
            )


def missing(paths: list[Path]) -> list[Path]:
    """Return the files that do not exist."""
    return [path for path in paths if not path.exists()]
