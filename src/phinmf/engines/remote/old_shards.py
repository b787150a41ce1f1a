"""All shards of an engine: a method is called on each of them, and the results come in order.

An engine knows its shards only by the class `Shards`; its subclasses know where they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar, TypeVarTuple

from phinmf._types import Array
from phinmf.engines.compiled.summation import total
from phinmf.engines.remote.old_shard import ACCESS, Access, Nodes, Shard

Arguments = TypeVarTuple("Arguments")
Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False)
class Call:
    """A method to call on every shard, and its arguments."""

    name: str
    args: tuple[Any, ...] = ()
    rows: Array | None = None  #: (N, …): each shard gets those of its frames as first argument
    args_at_trial: tuple[Any, ...] | None = (
        None  #: for shards that hold the trial point, if shorter
    )

    @property
    def access(self) -> Access:
        """Which state it reads and changes."""
        return ACCESS[self.name]

    def arguments(self, frames: slice, holds_trial: bool = False) -> tuple[Any, ...]:
        """Return the arguments for the shard of these frames."""
        if holds_trial and self.args_at_trial is not None:
            return self.args_at_trial
        return self.args if self.rows is None else (self.rows[frames], *self.args)


class Shards(ABC):
    """The shards of all blocks of frames."""

    def __init__(self, n_blocks: int) -> None:
        self.n_blocks = n_blocks
        self._trial: Array | None = None  #: the T whose TX the shards hold as trial point
        self._model: Array | None = None  #: the model that the shards were given

    @abstractmethod
    def answers(self, call: Call) -> Iterable[Any]:
        """Make a call on every shard, and return the results in order.

        They may be computed one by one while the caller iterates over them.
        """

    @abstractmethod
    def close(self) -> None:
        """Free what the shards hold elsewhere."""

    def flush(self) -> object:  # noqa: B027
        """Make calls that were not made yet; only those that return nothing may wait."""

    def ask(self, method: Callable[[Shard, *Arguments], Answer], *args: *Arguments) -> list[Answer]:
        """Call a method of every shard, and return the results in order."""
        return list(self._ask(Call(method.__name__, args)))

    def ask_rows(self, method: Callable[[Shard, Array], Answer], rows: Array) -> list[Answer]:
        """Call a method of every shard with its own of the rows (N, …)."""
        return list(self._ask(Call(method.__name__, rows=rows)))

    def sums(self, method: Callable[[Shard, *Arguments], Nodes], *args: *Arguments) -> list[Any]:
        """Call a method of every shard, and add up the nodes that come back over all blocks."""
        nodes: Iterable[Nodes] = self._ask(Call(method.__name__, args))
        return total(self.n_blocks, chain.from_iterable(nodes))

    def evaluate(self, W: Array | None, eps: float, T: Array | None) -> tuple[float, Array]:
        """Return the loss at TX and C times its gradient; TX becomes the trial point."""
        loss, G = self.sums(Shard.at, W, eps, T)
        self._trial = T
        return loss, G

    def move(self, T: Array) -> None:
        """X ← TX; T is not sent again if TX is the trial point."""
        short = (None,) if T is self._trial else None
        list(self._ask(Call(Shard.move.__name__, (T,), args_at_trial=short)))

    def give_model(self, V_hat: Array) -> None:
        """Let the shards hold a model (N, M) of the power, unless they do already."""
        if V_hat is not self._model:
            self.ask_rows(Shard.set_model, V_hat)
            self._model = V_hat

    def _ask(self, call: Call) -> Iterable[Any]:
        """Make a call on every shard."""
        if "trial" in call.access.changes:
            self._trial = None  # also if the call is interrupted
        return self.answers(call)


class LocalShards(Shards):
    """One shard of all blocks, in this process."""

    def __init__(self, shard: Shard, n_blocks: int) -> None:
        super().__init__(n_blocks)
        self.shard = shard

    def answers(self, call: Call) -> Iterable[Any]:
        method = getattr(self.shard, call.name)
        return [method(*call.arguments(slice(None), holds_trial=True))]

    def close(self) -> None:
        """Nothing is held elsewhere."""
