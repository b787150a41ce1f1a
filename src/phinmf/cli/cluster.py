"""``phinmf unmix --cluster``: files on the workers of a Dask cluster."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from phinmf.cli.grouping import lines
from phinmf.cli.one_file import unmix_one
from phinmf.cli.text import shown

if TYPE_CHECKING:
    from phinmf.arrays.cluster_tasks import ClusterTask
    from phinmf.arrays.cluster_watch import Watch
    from phinmf.unmix_file import Request
    from phinmf.unmixing.record import FolderRecord


def tasks(
    asked: list[Request], typed: argparse.Namespace
) -> Iterator[tuple[Request, Callable[[], FolderRecord]]]:
    """Yield a function for each file: all workers share one file, or each unmixes some files."""
    from phinmf.arrays.cluster_tasks import ClusterTask
    from phinmf.arrays.cluster_watch import Watch
    from phinmf.engines.remote.connection import check_workers, connect

    with connect(typed.cluster) as client:
        for name in [*logging.root.manager.loggerDict]:
            if name.startswith(("distributed", "asyncio")):  # our own messages are clearer
                logging.getLogger(name).setLevel(logging.CRITICAL)
        watch = Watch(client)
        check_workers(watch)
        asked = [absolute(request) for request in asked]
        check_readable(watch, [request.path for request in asked])
        if len(asked) == 1:
            request = replace(asked[0], on_cluster=True)
            yield request, partial(unmix_one, request, typed.quiet)
            return
        send = partial(client.submit, on_worker, pure=False)
        work = [ClusterTask(watch, partial(send, request)) for request in asked]
        for request, errand in zip(asked, work, strict=True):
            yield request, partial(outcome, request, errand, typed.quiet)


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


def on_worker(request: Request) -> FolderRecord:
    """Unmix a file on a worker; its files share the processors, and each thread unmixes one."""
    from phinmf.arrays import lazy, threads

    files = lazy.distributed().get_worker().state.nthreads
    n = request.options.n_threads or max(1, threads.available() // files)
    here = replace(
        request,
        recording=request.recording.on_this_machine(),
        options=replace(request.options, n_threads=n),
    )
    return unmix_one(here, quiet=True)


def outcome(request: Request, errand: ClusterTask, quiet: bool) -> FolderRecord:
    """Wait until a worker has unmixed a file, and return its record."""
    from phinmf.unmixing.null_test import adds_up

    record: FolderRecord = errand.result()
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


def check_readable(watch: Watch, paths: list[Path]) -> None:
    """Raise if a worker cannot find a file that exists here."""
    here = [path for path in paths if path.exists()]
    for address, absent in watch.ask(missing, here).items():
        for path in absent:
            raise FileNotFoundError(
                f"{path} does not exist on worker {address}: put it on a disk that all machines"
                " share, at the same path"
            )


def missing(paths: list[Path]) -> list[Path]:
    """Return the files that do not exist."""
    return [path for path in paths if not path.exists()]
