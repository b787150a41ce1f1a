"""``phinmf unmix --cluster``: files on the workers of a Dask cluster."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phinmf.views.cli.text import shown

if TYPE_CHECKING:
    from phinmf.views.cli.request import Request


def tasks(
    asked: list[Request], options: argparse.Namespace
) -> Iterator[tuple[Path, Callable[[], dict[str, Any]]]]:
    """What to call for the result of each file: one is learned by all workers, many by one each."""
    from phinmf.engines.cluster import check_workers, connect
    from phinmf.lazy import members
    from phinmf.views.cli.unmix import one

    with connect(options.cluster) as client:
        members(client)
        check_workers(client)
        asked = [absolute(request) for request in asked]
        seen_by_all(client, [request.path for request in asked])
        if len(asked) == 1:
            yield asked[0].path, partial(one, asked[0], options.quiet, on_cluster=True)
            return
        work = [client.submit(on_worker, request, pure=False) for request in asked]
        for request, future in zip(asked, work, strict=True):
            yield request.path, partial(outcome, request.path, future, options.quiet)


def absolute(request: Request) -> Request:
    """The same request with paths that mean the same on every worker."""
    return request._replace(
        path=request.path.absolute(),
        output=replace(request.output, folder=request.output.folder.absolute()),
        model=None if request.model is None else request.model.absolute(),
    )


def on_worker(request: Request) -> dict[str, Any]:
    """Unmix a file on a worker, with its share of the processors: one file for each thread."""
    from phinmf import lazy, threads
    from phinmf.views.cli.unmix import one

    files = lazy.distributed().get_worker().state.nthreads
    n = request.how.n_threads or max(1, threads.available() // files)
    return one(request._replace(how=replace(request.how, n_threads=n)), quiet=True)


def outcome(path: Path, future: Any, quiet: bool) -> dict[str, Any]:
    """Wait for a file that a worker unmixes."""
    result: dict[str, Any] = future.result()
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


def seen_by_all(client: Any, paths: list[Path]) -> None:
    """Refuse files that a worker cannot read."""
    for path in paths:
        for address, there in client.run(os.path.exists, str(path)).items():
            if path.exists() and not there:
                raise FileNotFoundError(
                    f"{path} is not there for worker {address}: put it on a disk that all machines"
                    " share, at the same place"
                )
