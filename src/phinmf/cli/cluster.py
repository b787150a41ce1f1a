"""``phinmf unmix --cluster``: files on the workers of a Dask cluster."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phinmf.cli.text import shown

if TYPE_CHECKING:
    from phinmf.cli.request import Request


def tasks(
    asked: list[Request], options: argparse.Namespace
) -> Iterator[tuple[Path, Callable[[], dict[str, Any]]]]:
    """What to call for the result of each file: one is learned by all workers, many by one each."""
    from phinmf.arrays.errands import Errand
    from phinmf.arrays.patience import Watch
    from phinmf.cli.unmix import one
    from phinmf.engines.remote.connection import check_workers, connect

    with connect(options.cluster) as client:
        for name in [*logging.root.manager.loggerDict]:
            if name.startswith(("distributed", "asyncio")):  # their tracebacks say less than we do
                logging.getLogger(name).setLevel(logging.CRITICAL)
        watch = Watch(client)
        check_workers(watch)
        asked = [absolute(request) for request in asked]
        seen_by_all(watch, [request.path for request in asked])
        if len(asked) == 1:
            yield asked[0].path, partial(one, asked[0], options.quiet, on_cluster=True)
            return
        send = partial(client.submit, on_worker, pure=False)
        work = [Errand(watch, partial(send, request)) for request in asked]
        for request, errand in zip(asked, work, strict=True):
            yield request.path, partial(outcome, request.path, errand, options.quiet)


def absolute(request: Request) -> Request:
    """The same request with paths that mean the same on every worker."""
    output = request.output
    return request._replace(
        path=request.path.absolute(),
        output=replace(
            output,
            folder=output.folder.absolute(),
            keep=tuple(path.absolute() for path in output.keep),
        ),
        model=None if request.model is None else request.model.absolute(),
    )


def on_worker(request: Request) -> dict[str, Any]:
    """Unmix a file on a worker, with its share of the processors: one file for each thread."""
    from phinmf.arrays import lazy, threads
    from phinmf.cli.unmix import one

    files = lazy.distributed().get_worker().state.nthreads
    n = request.how.n_threads or max(1, threads.available() // files)
    return one(request._replace(how=replace(request.how, n_threads=n)), quiet=True)


def outcome(path: Path, errand: Any, quiet: bool) -> dict[str, Any]:
    """Wait for a file that a worker unmixes."""
    result: dict[str, Any] = errand.result()
    if not Path(result["folder"]).exists():
        raise RuntimeError(
            f"a worker has written {result['folder']}, which is not here: name an --output on a"
            " disk that all machines share"
        )
    if not quiet:
        K = len(result["components"])
        said = f"{path.name}: {K} components in {result['folder']}; {result['adds_up']}"
        print(shown(said), file=sys.stderr)  # where everything is said but results
    return result


def seen_by_all(watch: Any, paths: list[Path]) -> None:
    """Refuse files that a worker cannot read."""
    here = [path for path in paths if path.exists()]
    for address, absent in watch.ask(missing, here).items():
        for path in absent:
            raise FileNotFoundError(
                f"{path} is not there for worker {address}: put it on a disk that all machines"
                " share, at the same place"
            )


def missing(paths: list[Path]) -> list[Path]:
    """Files that are not there."""
    return [path for path in paths if not path.exists()]
