"""Sums over blocks in a fixed order: a balanced binary tree, whichever shard holds which blocks.

The tree halves the blocks again and again, and depends on nothing but their number. A shard that
holds all blocks of a node adds them up by itself, so one partial sum is all that has to be sent,
and the bits are those of one machine that holds all blocks.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

MAX_FRAMES = 1024  #: of a block
MIN_FRAMES = 256  #: a block is not halved below this length to keep more threads busy
ENOUGH_BLOCKS = 8  #: more are not made to keep threads busy


def blocks_of(N: int) -> list[slice]:
    """Cut frames into blocks of nearly equal length, which depend on nothing but their number."""
    number = 1
    while number < ENOUGH_BLOCKS and N // (2 * number) >= MIN_FRAMES:
        number *= 2
    number = max(number, -(-N // MAX_FRAMES))
    return [slice(N * i // number, N * (i + 1) // number) for i in range(number)]


class Node(NamedTuple):
    """The sums over the blocks of a node of the tree."""

    n: int  #: number of blocks
    sums: list[Any]  #: arrays and numbers


def nodes_within(n: int, first: int, end: int) -> list[int]:
    """Return the sizes of the largest nodes of a tree of n blocks that `first` to `end` are."""
    if end - first in (0, n):
        return [n] if end > first else []
    half = n // 2
    left = nodes_within(half, min(first, half), min(end, half))
    return left + nodes_within(n - half, max(first - half, 0), max(end - half, 0))


def add_up(n: int, nodes: Iterator[Node]) -> Node:
    """Return a node of n blocks from the next nodes or blocks that make it up, in their order.

    At most one partial sum for each level of the tree is in memory at a time.
    """
    node = next(nodes)
    sizes = [n]  # of the nodes that begin with the same block, the largest first
    while sizes[-1] > node.n:
        sizes.append(sizes[-1] // 2)
    for half, whole in itertools.pairwise(reversed(sizes)):
        right = add_up(whole - half, nodes)
        node = Node(whole, list(map(plus, node.sums, right.sums)))
    return node


def plus(a: Any, b: Any) -> Any:
    """Add b to a, in the memory of a if that is a writable array."""
    if isinstance(a, np.ndarray) and a.flags.writeable:
        a += b
        return a
    return a + b


def total(n: int, nodes: Iterable[Node]) -> list[Any]:
    """Return the sums over n blocks, from nodes in order that cover them."""
    return add_up(n, iter(nodes)).sums


def stretches_of(n: int, number: int) -> list[slice]:
    """Cut n blocks into this number of stretches of nearly equal length, each made of few nodes.

    A power of two gives one node each; other numbers two at most. There are fewer stretches if
    there are not so many blocks.
    """
    least = number if number & (number - 1) == 0 else 1.5 * number
    edges = [0, n]
    while len(edges) - 1 < least and len(edges) - 1 < n:
        middles = [(a + b) // 2 for a, b in itertools.pairwise(edges)]
        edges = sorted({*edges, *middles})
    nodes = len(edges) - 1
    number = min(number, nodes)
    picked = [edges[nodes * i // number] for i in range(number + 1)]
    return [slice(a, b) for a, b in itertools.pairwise(picked)]
