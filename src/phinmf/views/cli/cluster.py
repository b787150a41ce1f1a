"""``phinmf unmix --cluster``: files on the workers of a Dask cluster."""

from __future__ import annotations

import argparse
import copy
import logging
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any


def tasks(
    paths: list[Path], options: argparse.Namespace, groups: Any
) -> Iterator[Callable[[], dict[str, Any]]]:
    """What to call for the result of each file: one is learned by all workers, many by one each."""
    from phinmf.engines.connection import check_workers, connect
    from phinmf.errands import Errand
    from phinmf.patience import Watch
    from phinmf.views.cli.unmix import one

    with connect(options.cluster) as client:
        for name in [*logging.root.manager.loggerDict]:
            if name.startswith(("distributed", "asyncio")):  # their tracebacks say less than we do
                logging.getLogger(name).setLevel(logging.CRITICAL)
        watch = Watch(client)
        check_workers(watch)
        paths = [path.absolute() for path in paths]
        seen_by_all(watch, paths)
        if len(paths) == 1:
            yield partial(one, paths[0], options, groups, on_cluster=True)
            return
        quiet = copy.copy(options)
        quiet.quiet, quiet.parser = True, None
        quiet.output = options.output.absolute()
        if quiet.model is not None:
            quiet.model = quiet.model.absolute()
        send = partial(client.submit, on_worker, options=quiet, groups=groups, pure=False)
        work = [Errand(watch, partial(send, path)) for path in paths]
        for path, errand in zip(paths, work, strict=True):
            yield partial(outcome, path, errand, options)


def on_worker(path: Path, options: argparse.Namespace, groups: Any) -> dict[str, Any]:
    """Unmix a file on a worker, with its share of the processors: one file for each thread."""
    from phinmf import lazy, threads
    from phinmf.views.cli.unmix import one

    files = lazy.distributed().get_worker().state.nthreads
    options = copy.copy(options)
    options.threads = options.threads or max(1, threads.available() // files)
    return one(path, options, groups)


def outcome(path: Path, errand: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Wait for a file that a worker unmixes."""
    result: dict[str, Any] = errand.result()
    if not Path(result["folder"]).exists():
        raise RuntimeError(
            f"a worker has written {result['folder']}, which is not here: name an --output on a"
            " disk that all machines share"
        )
    if not options.quiet:
        K = len(result["components"])
        print(f"{path.name}: {K} components in {result['folder']}; {result['adds_up']}")
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
