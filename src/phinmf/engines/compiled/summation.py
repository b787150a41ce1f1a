"""Sums over blocks in a fixed order: a balanced binary tree, whichever shard holds which blocks.

The tree halves the blocks again and again, and depends on nothing but their number. A shard that
holds all blocks of a node adds them up by itself, so one partial sum is all that has to be sent,
and the bits are those of one machine that holds all blocks.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import lru_cache
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

    first: int  #: block
    end: int  #: the block after the last
    sums: list[Any]  #: arrays and numbers


@lru_cache(maxsize=32)
def closing(n: int) -> tuple[tuple[int, ...], ...]:
    """For each of n blocks, the first blocks of the nodes that end with it, smallest node first."""
    begins: list[list[int]] = [[] for _ in range(n)]

    def visit(first: int, end: int) -> None:
        if end - first > 1:
            middle = (first + end) // 2
            visit(first, middle)
            visit(middle, end)
            begins[end - 1].append(first)

    visit(0, n)
    return tuple(tuple(b) for b in begins)


class Tree:
    """Adds up nodes that come in the order of their blocks; holds one for each level at most."""

    def __init__(self, n: int) -> None:
        self.closing = closing(n)
        self.nodes: list[Node] = []

    def add(self, node: Node) -> None:
        """Take the next node, and add up every node that is now complete."""
        nodes = self.nodes
        nodes.append(node)
        for first in self.closing[node.end - 1]:
            if first >= nodes[-1].first:
                continue
            if len(nodes) < 2 or nodes[-2].first != first:
                break  # another shard holds the left half
            right, left = nodes.pop(), nodes.pop()
            sums = map(plus, left.sums, right.sums)
            nodes.append(Node(left.first, right.end, list(sums)))


def plus(a: Any, b: Any) -> Any:
    """Add b to a, in the memory of a if that is a writable array."""
    if isinstance(a, np.ndarray) and a.flags.writeable:
        a += b
        return a
    return a + b


def total(n: int, nodes: Iterable[Node]) -> list[Any]:
    """Return the sums over n blocks, from nodes in order that cover them; arrays are writable."""
    tree = Tree(n)
    for node in nodes:
        tree.add(node)
    (whole,) = tree.nodes
    return [np.require(s, requirements="W") if isinstance(s, np.ndarray) else s for s in whole.sums]


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
