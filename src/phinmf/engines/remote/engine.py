"""Frames on the workers of a Dask cluster, or on disk: more than one machine, more than memory.

The shards compute what the compiled engine does, in the same order, so the bits are the same. With
a `distributed.Client` they are on its workers. Without one they are in this process: one shard in
memory if there is room for it, otherwise several that take turns, with scratch files.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import AnyArray, Array, Indices, Mask
from phinmf.arrays import cluster_tasks, cluster_watch, lazy
from phinmf.arrays.threads import Workers
from phinmf.divergences import Divergence
from phinmf.engines.base import Engine, links_among
from phinmf.engines.compiled.engine import CompiledEngine
from phinmf.engines.remote import cluster
from phinmf.engines.remote.connection import check_workers
from phinmf.engines.remote.old_engine import ShardedEngine
from phinmf.engines.remote.old_shards import Shards


class DaskEngine(ShardedEngine):
    """Frames of a dask array, or of an array in memory, in shards wherever dask computes."""

    dask_arrays = True

    def __init__(
        self,
        Y: AnyArray,
        divergence: Divergence,
        n_threads: int | None = None,
        weights: Array | None = None,
        links: Mask | None = None,
        workers: Workers | None = None,
        atoms: Array | None = None,
    ) -> None:
        lazy.dask()
        workers = workers or Workers(n_threads)
        super().__init__(Y.shape, Y.dtype, divergence, weights, links, workers, atoms)
        self.source = Y
        self._shards: Shards | None = None

    @property
    def shards(self) -> Shards:
        """The shards, which are made when they are first needed."""
        if self._shards is None:
            client = lazy.current_client()
            if client is None:
                raise ValueError("engine='dask' needs a distributed.Client: start one")
            self._shards = self._on_cluster(client)
        return self._shards

    def __exit__(self, *_: object) -> None:
        if self._shards is not None:
            self._shards.close()
        self._shards = self._now = self._kept = None
        super().__exit__()

    def subset(
        self, frames: Indices | slice, dtype: DTypeLike, weights: Array, atoms: Array | None = None
    ) -> Engine:
        """Leave all frames where they are, or take a sample of them into this process."""
        few, links = np.arange(self.shape[2])[frames], links_among(frames, self.links)
        if len(few) == self.shape[2]:
            Y = self.source.astype(dtype)
            return DaskEngine(Y, self.divergence, None, weights, links, self.workers, atoms)
        sample = self.source[:, :, few]
        if lazy.is_lazy(sample):
            sample = cluster_tasks.in_memory(sample)
        return CompiledEngine(
            sample.astype(dtype), self.divergence, None, weights, links, self.workers, atoms
        )

    def _on_cluster(self, client: Any) -> Shards:
        """Make one shard for each worker of a cluster."""
        watch = cluster_watch.Watch(client)
        check_workers(watch)
        stretches = self.stretches(len(watch.ready()))
        return cluster.ClusterShards(watch, self.source, self.dtype, stretches, self.n_blocks)
