"""Array in memory, in the current transform and at a trial point."""

from __future__ import annotations

from abc import abstractmethod

from phinmf._types import Array
from phinmf.engines.remote.old_shard import Shard


class TwoPoints(Shard):
    """The methods of a shard that change X, which is computed in the memory of the trial point."""

    may_overwrite_Y: bool  #: its memory serves as that of a trial point, once X is another array

    @abstractmethod
    def room(self) -> Array:
        """Return memory for a transform of all frames."""

    @abstractmethod
    def multiply(self, T: Array, source: Array, target: Array) -> None:
        """Write T applied to every frame of `source` to `target`."""

    def hold(self, Y: Array, overwrite: bool = False) -> None:
        """Take frames as Y and X; if they may be overwritten, their memory is used again."""
        self.Y = self.X = Y
        self.trial = None
        self.may_overwrite_Y = overwrite

    def rest(self) -> None:
        self.X, self.trial = self.Y, None

    def rotate(self, Phi: Array) -> None:
        self.multiply(Phi, self.Y, self.room_for_trial())
        self.make_trial_X()

    def move(self, T: Array | None) -> None:
        if T is not None:
            self.multiply(T, self.X, self.room_for_trial())
        assert self.trial is not None
        self.make_trial_X()

    def room_for_trial(self) -> Array:
        """Return the memory of the trial point, with whatever is in it."""
        if self.trial is None:
            self.trial = self.room()
        return self.trial

    def make_trial_X(self) -> None:
        """Exchange X and the trial point, whose content is undefined from now on."""
        old, self.X = self.X, self.room_for_trial()
        self.trial = None if old is self.Y and not self.may_overwrite_Y else old
