"""What has been done to runs, so that one that is lost can be brought to the same state again."""

from __future__ import annotations

from typing import Any, NamedTuple

from phinmf._types import Array

PLACES = ("rest", "rotate", "move")  #: change X
ACTIVATIONS = ("set_activations", "scale_activations", "nmf_pass", "converge_activations")
CHANGES = {*PLACES, *ACTIVATIONS, "set_model"}


class Change(NamedTuple):
    """Something that was asked of every run; each got its own of the rows."""

    name: str
    args: tuple[Any, ...]
    rows: Array | None = None

    def arguments(self, frames: slice) -> tuple[Any, ...]:
        """For the run of these frames."""
        return self.args if self.rows is None else (self.rows[frames], *self.args)


class Journal:
    """Changes in their order, as few as lead to where the runs are."""

    def __init__(self) -> None:
        self.changes: list[Change] = []

    def note(self, change: Change) -> None:
        """Add what is about to be asked."""
        if change.name == "set_model":
            self.changes = [c for c in self.changes if c.name != "set_model"]
        self.changes.append(change)
        if change.name == "set_activations":
            self._forget()

    def know(self, H: Array) -> None:
        """All activations (N, K) are here: how they came about need not be done again."""
        self.note(Change("set_activations", (), H))

    def _forget(self) -> None:
        """Drop what no longer matters: older activations, then places before the last rotation."""
        known = self.changes[-1]
        rest = [c for c in self.changes[:-1] if c.name not in ACTIVATIONS]
        afresh = [i for i, c in enumerate(rest) if c.name in ("rest", "rotate")]
        start = afresh[-1] if afresh else 0
        kept = [c for i, c in enumerate(rest) if i >= start or c.name == "set_model"]
        self.changes = [*kept, known]
