"""Which frames of a shard are computed at the same time."""

from __future__ import annotations

from typing import NamedTuple

from phinmf.engines.blocked.stretch import Stretch, frames_in_blocks
from phinmf.engines.blocked.summation import blocks_of, nodes_within

ENTRIES = 2**25  #: of a piece, if there is memory for it: a GPU is busy for about a millisecond
ALIGNED = 8  #: pieces begin at multiples of this many frames, which speeds up products


class Piece(NamedTuple):
    """Consecutive frames of a shard, all in one node of the tree of sums."""

    node: int  #: its number among those of the shard
    frames: slice


def pieces_of(stretch: Stretch, n_frames: int) -> tuple[list[slice], list[Piece]]:
    """Return the nodes that a stretch is made of, and its pieces of at most so many frames.

    At least `ALIGNED` frames are a piece.
    """
    nodes = nodes_within(len(blocks_of(stretch.N)), stretch.blocks)
    step = max(n_frames // ALIGNED * ALIGNED, ALIGNED)
    pieces = []
    for number, node in enumerate(nodes):
        there = frames_in_blocks(stretch.N, node)
        start, stop = there.start - stretch.frames.start, there.stop - stretch.frames.start
        for first in range(start, stop, step):
            pieces.append(Piece(number, slice(first, min(first + step, stop))))
    return nodes, pieces
