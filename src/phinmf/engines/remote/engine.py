"""Frames of a dask array in this process: in memory, or on disk if there is more than memory.

The shards compute what the compiled engine does, in the same order, so the bits are the same: one
shard in memory if there is room for it, otherwise several that take turns, with scratch files.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import AnyArray, Array, Indices, Mask
from phinmf.arrays import cluster, lazy
from phinmf.arrays.threads import Workers
from phinmf.divergences import Divergence
from phinmf.engines.base import links_among
from phinmf.engines.compiled.compiled_shard import CompiledShard
from phinmf.engines.compiled.engine import CompiledEngine, ShardedEngine
from phinmf.engines.compiled.shards import LocalShards, Shards
from phinmf.engines.remote import disk, memory
from phinmf.engines.remote.source import load

#: Arrays as large as the frames that a fit in memory may come to hold: in double precision Y, X
#: and a trial point, and while these are at rest Y, X and a trial point in single precision.
MAX_ARRAYS = 4.5


class ChunkedEngine(ShardedEngine):
    """Frames of a dask array, in one shard in memory or in several on disk."""

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
            self._shards = self._in_process()
        return self._shards

    def __exit__(self, *_: object) -> None:
        if self._shards is not None:
            self._shards.close()
        self._shards = self._now = self._kept = None
        super().__exit__()

    def subset(
        self, frames: Indices | slice, dtype: DTypeLike, weights: Array, atoms: Array | None = None
    ) -> ShardedEngine:
        """Leave all frames where they are, or take a sample of them into this process."""
        few, links = np.arange(self.shape[2])[frames], links_among(frames, self.links)
        if len(few) == self.shape[2]:
            Y = self.source.astype(dtype)
            return ChunkedEngine(Y, self.divergence, None, weights, links, self.workers, atoms)
        sample = self.source[:, :, few]
        if lazy.is_lazy(sample):
            sample = cluster.in_memory(sample)
        return CompiledEngine(
            sample.astype(dtype), self.divergence, None, weights, links, self.workers, atoms
        )

    def _in_process(self) -> Shards:
        """Make shards in this process, as large as the memory allows."""
        C, M, N = self.shape
        size, budget = C * M * N * self.dtype.itemsize, memory.budget()
        whole = 0  # bytes of the frames that atoms are multiplied with
        if self.atoms is not None:
            whole = math.prod(self.source.shape) * self.dtype.itemsize
        if MAX_ARRAYS * size + whole <= budget:
            (stretch,) = self.stretches(1)
            Y = stretch.held(load(self.source, slice(0, N), self.dtype), self.workers)
            return LocalShards(CompiledShard(Y, stretch, self.workers), self.n_blocks)
        needed = disk.ARRAYS * size + whole
        stretches = self.stretches(2 ** max(0, math.ceil(math.log2(needed / budget))))
        return disk.DiskShards(
            partial(load, self.source, dtype=self.dtype), (C, M), self.dtype, stretches,
            self.n_blocks, self.workers, lazy.dask().config.get("temporary-directory", None),
        )  # fmt: skip
