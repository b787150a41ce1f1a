"""The calls that lead to the present state of a shard, so that they can be made again.

Which calls matter follows from what methods declare (`blocked/shard.py: access`). Of older calls
only those are kept that the state still depends on: a rotation makes the moves before it
superfluous, new activations all updates of the old ones.
"""

from __future__ import annotations

from phinmf.engines.blocked.shard import LASTING
from phinmf.engines.blocked.shards import Call


class Journal:
    """Calls in their order, as few as lead to the present state."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def note(self, call: Call) -> None:
        """Add a call that is about to be made; one that changes no lasting state is left out."""
        if call.access.changes & LASTING:
            self.calls.append(call)
            if call.access.overwrites & LASTING:
                self.calls = needed(self.calls)

    def clear(self) -> None:
        """Forget all calls."""
        self.calls = []


def needed(calls: list[Call]) -> list[Call]:
    """Return the calls that the state after all of them depends on."""
    kept: list[Call] = []
    matters = set(LASTING)  # state whose value at this point, going backwards, has an effect
    for call in reversed(calls):
        if call.access.changes & matters:
            kept.append(call)
            matters = (matters - call.access.changes) | call.access.reads
    return kept[::-1]
