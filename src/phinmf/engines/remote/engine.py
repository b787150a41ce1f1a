"""Frames on the workers of a Dask cluster, or on disk: more than one machine, more than memory.

The block code and the order of sums are those of the blocked engine, and so are the bits. With a
`distributed.Client` the runs are on its workers. Without one they are in this process: in memory
if there is room for them, otherwise from their source and scratch files, one at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import Array, Indices
from phinmf.arrays import errands, lazy, patience
from phinmf.arrays.threads import Workers
from phinmf.divergences import Divergence
from phinmf.engines.blocked.engine import BlockedEngine
from phinmf.engines.blocked.shard import Run
from phinmf.engines.blocked.share import Share
from phinmf.engines.blocked.summation import runs_of
from phinmf.engines.remote import cluster, disk
from phinmf.engines.remote.connection import check_workers
from phinmf.engines.remote.journal import Change
from phinmf.engines.remote.source import load

#: Arrays as large as the frames that a fit in memory may come to hold: in double precision Y, X
#: and a trial point, Y while it rests, and the same in single precision.
MOST_ARRAYS = 4.5


class DaskEngine(BlockedEngine):
    """Runs of blocks that are somewhere else."""

    def __init__(
        self,
        Y: Any,
        divergence: Divergence,
        n_threads: int | None = None,
        weights: Array | None = None,
        workers: Workers | None = None,
    ) -> None:
        lazy.dask()
        self.hold(Y.shape, Y.dtype, divergence, weights, workers or Workers(n_threads))
        self.source = Y
        self._runs: Any = None

    def __exit__(self, *_: object) -> None:
        if self._runs is not None:
            self._runs.close()
        self._runs = None
        super().__exit__()

    def subset(self, frames: Indices | slice, dtype: DTypeLike, weights: Array) -> BlockedEngine:
        """All frames stay where they are; a sample of them comes here."""
        few = np.arange(self.shape[2])[frames]
        if len(few) == self.shape[2]:
            Y = self.source.astype(dtype)
            return DaskEngine(Y, self.divergence, None, weights, self.workers)
        sample = self.source[:, :, few]
        if lazy.is_lazy(sample):
            sample = errands.in_memory(sample)
        return BlockedEngine(sample.astype(dtype), self.divergence, None, weights, self.workers)

    def answers(self, name: str, *args: Any, rows: Array | None = None) -> Iterable[Any]:
        yield from self.runs.ask(Change(name, args, rows))

    def move(self, T: Array) -> None:
        list(self.runs.ask(Change("move", (T,)), sent=(None,) if T is self.trial else None))
        self.trial = None

    @property
    def runs(self) -> Any:
        """Where the runs are; made when they are first needed."""
        if self._runs is None:
            client = lazy.current_client()
            self._runs = self.in_process() if client is None else self.on(client)
        return self._runs

    def shares(self, number: int) -> list[Share]:
        """The blocks, shared out."""
        return [self.share(blocks) for blocks in runs_of(self.n_blocks, number)]

    def on(self, client: Any) -> Any:
        """Runs on the workers of a cluster."""
        watch = patience.Watch(client)
        check_workers(watch)
        return cluster.Cluster(watch, self.source, self.dtype, self.shares(len(watch.ready())))

    def in_process(self) -> Any:
        """Runs in this process, as many as the memory allows at a time."""
        config = lazy.dask().config
        C, M, N = self.shape
        size = C * M * N * self.dtype.itemsize
        given = config.get("phinmf.memory", disk.available() // 2)
        try:
            budget = lazy.dask().utils.parse_bytes(given)
        except (AttributeError, TypeError, ValueError):
            budget = 0
        if not budget > 0:
            raise ValueError(f"phinmf.memory is {given!r}, but some memory is needed, such as 2GB")
        if MOST_ARRAYS * size <= budget:
            Y = load(self.source, slice(0, N), self.dtype)
            return Here(Run(Y, self.share(slice(0, self.n_blocks)), self.workers))
        shares = self.shares(2 ** int(np.ceil(np.log2(disk.ARRAYS * size / budget))))
        runs = [
            disk.StoredRun(
                partial(load, self.source, share.frames, self.dtype), (C, M), self.dtype, share,
                self.workers,
            )
            for share in shares
        ]  # fmt: skip
        return disk.Disk(runs, config.get("temporary-directory", None))


class Here:
    """One run, in memory."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def ask(self, change: Change, sent: tuple[Any, ...] | None = None) -> list[Any]:
        """Its answer."""
        short = change if sent is None else change._replace(args=sent)
        return [getattr(self.run, change.name)(*short.arguments(slice(None)))]

    def close(self) -> None:
        """Nothing is held elsewhere."""
