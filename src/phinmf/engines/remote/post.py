"""Sending the steps of messages to actors, from the client or from a worker; and counting bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from phinmf.arrays import lazy
from phinmf.arrays.cluster_watch import Lost, Watch
from phinmf.engines.remote.journal import size
from phinmf.engines.remote.message import Failure, Place, Step


class Post:
    """Sends messages of the client, and counts what passes it."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.travelled: Counter[str] = Counter()  #: bytes of arrays, by the name of the call
        self.messages: Counter[str] = Counter()  #: number of messages, by the name of the last call

    def send(
        self, place: Place, function: str, number: int, steps: Sequence[Step], *route: Any
    ) -> Future[Any]:
        """Send steps to the actor at a place; the future holds what it returns."""
        name = steps[-1][0]
        for method, args in steps:
            self.travelled[method] += size(args)
        self.messages[name] += 1
        rpc, content = self.watch.client.rpc, packed(steps)

        async def answer() -> Any:
            try:
                found = await execute(rpc, place, function, number, content, *route)
            except Exception as error:
                raise Lost(place[0]) from error
            if isinstance(found, Failure):
                raise found.error
            self.travelled[name] += size(found)
            return found

        answered: Future[Any] = self.watch.begin(answer())
        return answered


def packed(steps: Sequence[Step]) -> list[Any]:
    """Prepare steps for the network: lists of names and of arguments that dask serialises."""
    serialised = lazy.distributed().protocol.to_serialize
    return [[name, [serialised(a) for a in args]] for name, args in steps]


async def execute(rpc: Callable[[str], Any], place: Place, function: str, *args: Any) -> Any:
    """Call a method of the actor at a place; what dask raises means that its worker is lost."""
    address, key = place
    reply = await rpc(address).actor_execute(
        function=function, actor=key, args=list(args), kwargs={}
    )
    if reply["status"] != "OK":  # the worker is about to close, or one that it has called is lost
        raise reply["exception"]
    return reply["result"]
