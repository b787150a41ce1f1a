"""Sums over blocks in a fixed order: a balanced binary tree, whoever holds which blocks.

The tree halves the blocks again and again, and depends on nothing but their number. Whoever holds
all blocks of a node can add them up by itself, so one partial sum is all that has to travel, and
the bits are those of one machine that holds them all.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

MOST_FRAMES = 1024  #: of a block
FEW_FRAMES = 256  #: a block is not split further for the sake of more threads


def blocks_of(N: int) -> list[slice]:
    """Blocks of nearly equal length; they depend on nothing but the number of frames."""
    number = 1
    while number < 8 and N // (2 * number) >= FEW_FRAMES:
        number *= 2
    number = max(number, -(-N // MOST_FRAMES))
    edges = [N * i // number for i in range(number + 1)]
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


class Node(NamedTuple):
    """What the blocks of a node of the tree add up to."""

    first: int  #: block
    end: int  #: the block after the last
    sums: list[Any]


@lru_cache(maxsize=32)
def closing(n: int) -> tuple[tuple[int, ...], ...]:
    """For each of n blocks, where the nodes begin that end with it, the smallest node first."""
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
        """Take the next node, and join what belongs together."""
        nodes = self.nodes
        nodes.append(node)
        for first in self.closing[node.end - 1]:
            if first >= nodes[-1].first:
                continue
            if len(nodes) < 2 or nodes[-2].first != first:
                break  # the other half is not here
            right, left = nodes.pop(), nodes.pop()
            sums = [plus(a, b) for a, b in zip(left.sums, right.sums, strict=True)]
            nodes.append(Node(left.first, right.end, sums))


def plus(a: Any, b: Any) -> Any:
    """The sum, in the memory of the first where that may be written to."""
    if isinstance(a, np.ndarray) and a.flags.writeable:
        a += b
        return a
    return a + b


def total(n: int, nodes: Iterable[Node]) -> list[Any]:
    """What n blocks add up to, from nodes in order that cover them."""
    tree = Tree(n)
    for node in nodes:
        tree.add(node)
    (whole,) = tree.nodes
    return [np.require(s, requirements="W") if isinstance(s, np.ndarray) else s for s in whole.sums]


def runs_of(n: int, wanted: int) -> list[slice]:
    """Share n blocks out into runs of nearly equal length, each made of one node or few.

    A power of two gives one node each; other numbers two at most.
    """
    least = wanted if wanted & (wanted - 1) == 0 else 1.5 * wanted
    edges = [0, n]
    while len(edges) - 1 < least and len(edges) - 1 < n:
        middles = [(a + b) // 2 for a, b in itertools.pairwise(edges)]
        edges = sorted({*edges, *middles})
    nodes = len(edges) - 1
    wanted = min(wanted, nodes)
    picked = [edges[nodes * i // wanted] for i in range(wanted + 1)]
    return [slice(a, b) for a, b in itertools.pairwise(picked)]
