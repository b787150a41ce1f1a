"""Which of all blocks a run holds, and what it needs to know to compute with them."""

from __future__ import annotations

from dataclasses import dataclass

from phinmf._types import Array
from phinmf.divergences import Divergence
from phinmf.engines.blocked.summation import blocks_of


@dataclass(frozen=True)
class Share:
    """A stretch of the blocks of all frames."""

    N: int  #: frames in all
    blocks: slice  #: of all blocks
    divergence: Divergence
    weights: Array  #: of its frames
    equal: bool  #: whether all weights are, of other shares, too

    @property
    def frames(self) -> slice:
        """Which of all frames they are."""
        return frames_of(self.N, self.blocks)


def frames_of(N: int, blocks: slice) -> slice:
    """The frames of a stretch of blocks."""
    chosen = blocks_of(N)[blocks]
    return slice(chosen[0].start, chosen[-1].stop)
