"""``phinmf unmix --cluster``: files on the workers of a Dask cluster."""

from __future__ import annotations

import argparse
import copy
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any


def tasks(
    paths: list[Path], options: argparse.Namespace, groups: Any
) -> Iterator[Callable[[], dict[str, Any]]]:
    """What to call for the result of each file: one is learned by all workers, many by one each."""
    from phinmf.engines.cluster import check_workers, connect
    from phinmf.lazy import members
    from phinmf.views.cli.unmix import one

    with connect(options.cluster) as client:
        members(client)
        check_workers(client)
        paths = [path.absolute() for path in paths]
        seen_by_all(client, paths)
        if len(paths) == 1:
            yield partial(one, paths[0], options, groups, on_cluster=True)
            return
        quiet = copy.copy(options)
        quiet.quiet, quiet.parser = True, None
        quiet.output = options.output.absolute()
        quiet.files = [path.absolute() for path in options.files]
        if quiet.model is not None:
            quiet.model = quiet.model.absolute()
        work = [client.submit(on_worker, path, quiet, groups, pure=False) for path in paths]
        for path, future in zip(paths, work, strict=True):
            yield partial(outcome, path, future, options)


def on_worker(path: Path, options: argparse.Namespace, groups: Any) -> dict[str, Any]:
    """Unmix a file on a worker, with its share of the processors: one file for each thread."""
    from phinmf import lazy, threads
    from phinmf.views.cli.unmix import one

    files = lazy.distributed().get_worker().state.nthreads
    options = copy.copy(options)
    options.threads = options.threads or max(1, threads.available() // files)
    return one(path, options, groups)


def outcome(path: Path, future: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Wait for a file that a worker unmixes."""
    result: dict[str, Any] = future.result()
    if not Path(result["folder"]).exists():
        raise RuntimeError(
            f"a worker has written {result['folder']}, which is not here: name an --output on a"
            " disk that all machines share"
        )
    if not options.quiet:
        K = len(result["components"])
        print(f"{path.name}: {K} components in {result['folder']}; {result['adds_up']}")
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
