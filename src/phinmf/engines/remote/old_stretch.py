"""Which of all blocks a shard holds, and what it has to know to compute with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phinmf._types import Array, Mask
from phinmf.arrays import room_for_frames
from phinmf.arrays.threads import Workers
from phinmf.divergences import Divergence
from phinmf.engines.compiled.summation import blocks_of


@dataclass(frozen=True)
class Stretch:
    """Consecutive blocks of the frames of an engine."""

    N: int  #: number of all frames
    blocks: slice  #: of all blocks
    divergence: Divergence
    weights: Array  #: (n,): of the frames of these blocks
    equal: bool  #: whether the weights of all N frames are equal
    links: Mask  #: (n + 1,): whether each of these frames, and the next, follows another
    atoms: Array | None = None  #: (P, M): if any, their products with frames are held

    @property
    def own_blocks(self) -> list[slice]:
        """The blocks among the frames of these blocks."""
        start = self.frames.start
        return [slice(b.start - start, b.stop - start) for b in blocks_of(self.N)[self.blocks]]

    def held(self, Y: Array, workers: Workers | None = None) -> Array:
        """Return what is held of frames (C, n, M): themselves, or products (C, n, P) with atoms."""
        if self.atoms is None:
            return Y
        by_atom = self.atoms.T.astype(Y.dtype, order="C")
        Z = room_for_frames((*Y.shape[:2], len(self.atoms)), Y.dtype)

        def one(block: slice) -> None:
            np.matmul(Y[:, block], by_atom, out=Z[:, block])

        if workers is None:
            for block in self.own_blocks:
                one(block)
        else:
            workers.each(one, self.own_blocks)
        return Z

    @property
    def frames(self) -> slice:
        """The frames of these blocks among all frames."""
        return frames_in_blocks(self.N, self.blocks)


def frames_in_blocks(N: int, blocks: slice) -> slice:
    """Return the frames that consecutive blocks of all N frames hold."""
    chosen = blocks_of(N)[blocks]
    return slice(chosen[0].start, chosen[-1].stop)
