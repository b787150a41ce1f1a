"""Where frames Y, their transform X = ΦY and a trial point TX are: in memory, or in files.

Invariants:

* Y is never changed. X belongs to the frames and is replaced as a whole, so an interrupt leaves it
  as it was before or as it is after.
* X after moves T₁, T₂ … is computed as T₂(T₁(ΦY)) everywhere: the bits do not depend on when.
* Arrays that are iterated over are valid until the next step of the iteration.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from phinmf._types import Array
from phinmf.engines.compiled.shard import Shard


class FrameStore(ABC):
    """The frames of all shards."""

    shards: Sequence[Shard]
    trial: Array | None = None  #: the T whose TX is in the memory of the trial point

    @abstractmethod
    def originals(self) -> Iterator[tuple[Shard, Array]]:
        """Every shard with its Y (C, n, M), in order."""

    @abstractmethod
    def transformed(self) -> Iterator[tuple[Shard, Array]]:
        """Every shard with its X (C, n, M), in order."""

    @abstractmethod
    def rest(self) -> None:
        """X ← Y, and free the memory of X and of the trial point."""

    @abstractmethod
    def rotate(self, Phi: Array) -> None:
        """X ← ΦY."""

    @abstractmethod
    def move(self, T: Array) -> None:
        """X ← TX."""

    def trial_memory(self) -> Array | None:
        """Return memory for TX, to be named by `trial` when it is complete; None if there is none.

        What it held before is lost.
        """
        return None

    def close(self) -> None:  # noqa: B027
        """Free what is not memory of this process."""


class FramesInMemory(FrameStore):
    """One shard, in three arrays as large as its frames at most: Y, X and a trial point.

    X is always computed in the memory of the trial point, and the two are exchanged.
    """

    def __init__(self, shard: Shard, Y: Array) -> None:
        """Hold frames Y (C, N, M)."""
        self.shard = shard
        self.shards = [shard]
        self.Y = self.X = Y
        self._spare: Array | None = None  #: memory of the trial point

    def originals(self) -> Iterator[tuple[Shard, Array]]:
        yield self.shard, self.Y

    def transformed(self) -> Iterator[tuple[Shard, Array]]:
        yield self.shard, self.X

    def rest(self) -> None:
        self.X, self._spare, self.trial = self.Y, None, None

    def rotate(self, Phi: Array) -> None:
        self._replace_X(self.shard.rotated(self.Y, Phi, self.trial_memory()))

    def move(self, T: Array) -> None:
        memory = self._spare
        if T is not self.trial or memory is None:
            memory = self.shard.rotated(self.X, T, self.trial_memory())
        self._replace_X(memory)

    def trial_memory(self) -> Array:
        self.trial = None
        if self._spare is None:
            self._spare = self.shard.room(self.Y)
        return self._spare

    def _replace_X(self, X: Array) -> None:
        """Exchange X and the trial point; the memory of Y is never that of a trial point."""
        self._spare, self.trial = None if self.X is self.Y else self.X, None
        self.X = X
