"""A shard in the process of a worker, as an actor of dask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from phinmf._types import Array, Precision
from phinmf.arrays import lazy
from phinmf.arrays.threads import Workers
from phinmf.engines.remote.message import Failure, Place, Step
from phinmf.engines.remote.old_compiled_shard import CompiledShard
from phinmf.engines.remote.old_shard import Shard
from phinmf.engines.remote.old_stretch import Stretch
from phinmf.engines.remote.source import joined
from phinmf.engines.remote.tree import relayed


class ShardActor:
    """A shard with threads of its own, which makes the calls that the client sends."""

    shard: Shard
    number: int | None = None  #: of the last message
    answer: Any = None  #: to the last message

    def __init__(
        self,
        parts: list[Array] | None,
        shape: tuple[int, int, int],
        dtype: Precision,
        n_threads: int,
        stretch: Stretch,
    ) -> None:
        """Make a shard of pieces of frames; if `parts` is None, the client sends them later."""
        self.workers = Workers(n_threads)  # open only during a message: a lost worker of a cluster
        # in threads is never told to close, and BLAS would keep to one thread in that process
        self.shape, self.dtype = shape, dtype
        self.stretch = replace(
            stretch, weights=own_copy(stretch.weights), links=own_copy(stretch.links)
        )
        if parts is not None:
            with self.workers:
                self.hold(parts)

    def hold(self, parts: list[Array]) -> None:
        """Make the shard of pieces of frames."""
        Y = joined(parts, self.shape, self.dtype)
        held = self.stretch.held(Y, self.workers)
        self.shard = CompiledShard(held, self.stretch, self.workers)

    def ask(self, number: int, steps: Sequence[Step]) -> Any:
        """Make the calls of a message, once, and return what the last one returns.

        What a call raises is returned, too: what dask raises means a lost worker.
        """
        if self.number is not None and number < self.number:
            return Failure(RuntimeError(f"message {number} is older than {self.number}"))
        if number != self.number:
            with self.workers:
                self.answer = read_only(self._made(steps))
            self.number = number
        return self.answer

    async def relay(
        self, number: int, steps: Sequence[Step], places: Sequence[Place], n_blocks: int
    ) -> list[Any] | Failure:
        """Let the shards at these places answer a message, of which this one is the first."""
        worker = lazy.distributed().get_worker()
        return await relayed(self.ask, worker, number, steps, places, n_blocks)

    def _made(self, steps: Sequence[Step]) -> Any:
        """Make calls, and return what the last one returns or what the first one raises."""
        answer = None
        try:
            for name, args in steps:
                owner = self if name == "hold" else self.shard
                answer = getattr(owner, name)(*map(own_copy, args))
        except Exception as error:
            return Failure(error)
        return answer


def own_copy(value: Any) -> Any:
    """Copy arrays that came over the network: they are read-only and not aligned.

    Numba takes such arrays for another type, and might compile sums in another order.
    """
    return value.copy(order="K") if isinstance(value, np.ndarray) else value


def read_only(answer: Any) -> Any:
    """Protect the arrays of an answer, which may have to be sent again: sums are made in place."""
    if isinstance(answer, np.ndarray):
        answer.flags.writeable = False
    elif isinstance(answer, (list, tuple)):
        for part in answer:
            read_only(part)
    return answer
