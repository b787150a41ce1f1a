"""A message along a tree of workers: the client sends and receives one, whatever their number.

The head of some consecutive shards forwards the message to the head of their right half, and goes
on with the left half until it is alone. Then it makes the calls itself, and adds up its nodes of
the fixed binary tree (`summation.py`) and those that come back, as far as that is possible:
the bits are those of one machine. Nobody waits in the thread that computes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from phinmf.arrays import lazy
from phinmf.engines.compiled.summation import Node, Tree
from phinmf.engines.remote.message import Failure, Message, Place, Step
from phinmf.engines.remote.old_shards import Call
from phinmf.engines.remote.post import execute, packed

PAYS_FROM = 16  #: workers; default of phinmf.tree in dask's configuration


def pays_from() -> int:
    """Return the number of shards from which messages take a tree: ``phinmf.tree``."""
    given = lazy.dask().config.get("phinmf.tree", PAYS_FROM)
    try:
        number = int(given)
    except (TypeError, ValueError, OverflowError):
        number = 0
    if number < 1:
        raise ValueError(f"phinmf.tree is {given!r}, but a number of workers is needed, such as 16")
    return number


def may_take(message: Message) -> bool:
    """Whether a message can take a tree: all shards get the same, and no frames come back."""
    own = any(call.rows is not None for call in message.calls)
    return not own and message.last.access.returns != "Array"


def right_halves(n: int) -> list[slice]:
    """Return what the head of n shards forwards to: right halves, until the first is left alone."""
    halves = []
    while n > 1:
        halves.append(slice((n + 1) // 2, n))
        n = (n + 1) // 2
    return halves


async def relayed(
    ask: Callable[[int, Sequence[Step]], Any],
    worker: Any,
    number: int,
    steps: Sequence[Step],
    places: Sequence[Place],
    n_blocks: int,
) -> list[Any] | Failure:
    """Let all shards at these places make the steps, the first one by `ask`; return the answers.

    Sums come back added up, as one answer. An exception means that a worker was lost: the client
    then asks every shard by itself.
    """
    loop = asyncio.get_running_loop()
    halves = [places[half] for half in right_halves(len(places))]
    content = number, packed(steps)
    forwarded = [
        asyncio.ensure_future(execute(worker.rpc, half[0], "relay", *content, half, n_blocks))
        for half in halves
    ]
    try:
        first = await loop.run_in_executor(worker.executors["actor"], ask, number, steps)
        others = [await one for one in reversed(forwarded)]
    finally:
        for one in forwarded:
            one.cancel()
    failures = [found for found in (first, *others) if isinstance(found, Failure)]
    if failures:
        return failures[0]
    answers = [first, *(answer for some in others for answer in some)]
    if Call(steps[-1][0]).access.returns != "Nodes":
        return answers
    return [await loop.run_in_executor(None, added, n_blocks, answers)]


def added(n_blocks: int, answers: Sequence[Sequence[Node]]) -> list[Node]:
    """Add up the nodes of consecutive shards, as far as the tree over all blocks allows."""
    tree = Tree(n_blocks)
    for nodes in answers:
        for node in nodes:
            tree.add(node)
    return tree.nodes
