"""The calls that lead to the present state of a shard, so that they can be made again.

Which calls matter follows from what methods declare (`compiled/shard.py: access`). Of older calls
only those are kept that the state still depends on: a rotation makes the moves before it
superfluous, new activations all updates of the old ones.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from phinmf.engines.remote.old_shard import LASTING, Shard
from phinmf.engines.remote.old_shards import Call

MOST_CALLS = 200  #: that a copy of the activations would replace


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

    def outgrown_by(self, call: Call) -> bool:
        """Whether to fetch a copy of the activations before this call.

        It would replace the calls that led to them. It pays if these are more than `MOST_CALLS`, or
        if their arguments are larger than the activations.
        """
        if "H" not in call.access.reads or not call.access.changes & LASTING:
            return False
        set_before = [c for c in self.calls if c.name == Shard.set_activations.__name__]
        if not set_before:
            return False
        copy = Call(set_before[-1].name, rows=set_before[-1].rows)
        still = {id(c) for c in needed([*self.calls, copy, call])}
        replaced = [c for c in self.calls if id(c) not in still]
        assert copy.rows is not None
        return len(replaced) > MOST_CALLS or sum(size(c.args) for c in replaced) > copy.rows.nbytes


def needed(calls: list[Call]) -> list[Call]:
    """Return the calls that the state after all of them depends on."""
    kept: list[Call] = []
    matters = set(LASTING)  # state whose value at this point, going backwards, has an effect
    for call in reversed(calls):
        if call.access.changes & matters:
            kept.append(call)
            matters = (matters - call.access.changes) | call.access.reads
    return kept[::-1]


def size(value: Any) -> int:
    """Return the bytes of all arrays in nested lists, tuples and dictionaries, as they are sent."""
    if isinstance(value, np.ndarray):
        repeated = (n for n, stride in zip(value.shape, value.strides, strict=True) if not stride)
        return value.nbytes // max(math.prod(repeated), 1)
    if isinstance(value, dict):
        value = list(value.values())
    return sum(size(v) for v in value) if isinstance(value, (list, tuple)) else 0
