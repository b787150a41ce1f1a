"""Which of all blocks a shard holds, and what it has to know to compute with them."""

from __future__ import annotations

from dataclasses import dataclass

from phinmf._types import Array
from phinmf.divergences import Divergence
from phinmf.engines.blocked.summation import blocks_of


@dataclass(frozen=True)
class Stretch:
    """Consecutive blocks of the frames of an engine."""

    N: int  #: number of all frames
    blocks: slice  #: of all blocks
    divergence: Divergence
    weights: Array  #: (n,): of the frames of these blocks
    equal: bool  #: whether the weights of all N frames are equal

    @property
    def frames(self) -> slice:
        """The frames of these blocks among all frames."""
        return frames_in_blocks(self.N, self.blocks)


def frames_in_blocks(N: int, blocks: slice) -> slice:
    """Return the frames that consecutive blocks of all N frames hold."""
    chosen = blocks_of(N)[blocks]
    return slice(chosen[0].start, chosen[-1].stop)
