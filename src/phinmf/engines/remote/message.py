"""What the client sends to a shard: numbered calls, of which only the last returns something."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from phinmf.engines.remote.old_shards import Call

Step = tuple[str, tuple[Any, ...]]  #: the name of a method of a shard, and its arguments
Place = tuple[str, str]  #: the address of a worker, and the key of a shard there


@dataclass(frozen=True)
class Message:
    """Calls of every shard. One that is sent again has the same number, and is not made again."""

    number: int
    calls: tuple[Call, ...]

    @property
    def last(self) -> Call:
        """The call whose answer is asked for."""
        return self.calls[-1]

    def steps(self, frames: slice, holds_trial: bool) -> list[Step]:
        """Return what the shard of these frames has to do."""
        return [(call.name, call.arguments(frames, holds_trial)) for call in self.calls]


@dataclass(frozen=True)
class Failure:
    """An error that a call has raised."""

    error: Exception
