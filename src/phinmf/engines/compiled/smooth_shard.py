"""Smooth activations in a shard: every other frame is updated, given those between them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from phinmf._types import Array, Mask, Precision
from phinmf.arrays.threads import Workers
from phinmf.engines.compiled.shard import Nodes, Shard, SmoothStep
from phinmf.linalg.multiplicative import LEAST


class SmoothShard(Shard):
    """The methods of a compiled shard that need the activations of neighbouring frames."""

    dtype: Precision
    family: int  #: of the divergence, as the kernels know it
    weights: Array  #: (n,)
    links: Mask  #: (n + 1,): whether each of its frames, and the next, follows the one before
    frames: slice  #: of all frames
    blocks: list[slice]  #: of its frames
    workers: Workers
    smoothing: Any  #: the module of kernels

    @abstractmethod
    def sums_over_blocks(self, one: Callable[[slice], Sequence[Any]]) -> Nodes:
        """Add up what `one` returns for each block, as far as the tree allows."""

    def edges(self) -> dict[int, Array]:
        return {
            self.frames.start: self.H[0].copy(),
            self.frames.stop - 1: self.H[-1].copy(),
        }

    def neighbours(self, edges: dict[int, Array]) -> tuple[Array, Array]:
        """Return (K,) the activations before and after these frames; zeros if there are none."""
        none = np.zeros_like(self.H[0])
        numbers = self.frames.start - 1, self.frames.stop
        before, after = (edges.get(n, none).astype(self.dtype) for n in numbers)
        return before, after

    def update_every_other(self, first: int, step: SmoothStep, edges: dict[int, Array]) -> None:
        W, Wt = np.ascontiguousarray(step.W), np.ascontiguousarray(step.W.T)
        rates, around = step.rates.astype(self.dtype), self.neighbours(edges)
        numbers = [self.dtype.type(x) for x in (step.smoothness, step.eps, step.gamma, LEAST)]
        update = self.smoothing.smooth_block_for(self.family)

        def one(block: slice) -> None:
            odd = (self.frames.start + block.start + first) % 2
            update(
                self.X, self.weights, self.links, self.H, block.start + odd, block.stop, W, Wt,
                rates, *around, *numbers,
            )  # fmt: skip

        self.workers.each(one, self.blocks)

    def roughness(self, edges: dict[int, Array]) -> Nodes:
        before, _ = self.neighbours(edges)

        def one(block: slice) -> tuple[float]:
            return (self.smoothing.roughness(self.H, self.links, block.start, block.stop, before),)

        return self.sums_over_blocks(one)
