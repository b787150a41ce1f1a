"""What a run measures in each outer iteration, and shows to a callback."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from phinmf._types import Array
from phinmf.errors import InvalidValue
from phinmf.storage import shown


class Row(NamedTuple):
    """Measurements of one outer iteration.

    In `TLNMF.partial_fit`, of one step: what its block costs before anything is learned from it, at
    the target floor. Of the transform steps of its fits nothing is written down: the gradient is
    NaN, and there are no steps or evaluations.
    """

    #: C at the floor in use: divergence + penalty. It may rise while the floor falls, because the
    #: same fit costs more at a lower floor; it never rises while floor, frames and
    #: atoms stay the same.
    objective: float
    divergence: float  #: first term of the objective
    penalty: float  #: second term of the objective
    #: C at the target floor, for the same Φ, W and H; much higher while these fit a high floor.
    #: While fewer atoms are in use than at the end, that of the start: the result is never worse.
    target_objective: float
    gradient: float  #: Frobenius norm of skew(G) after the transform step
    steps: tuple[float, ...]  #: accepted step lengths of the transform step
    search_failed: bool  #: whether its last line search found no lower point
    evaluations: int  #: of loss and gradient, since the start of the run
    frames: int  #: number of frames in use; sums over a sample are scaled to all frames
    atoms: int  #: number of atoms in use: objectives and gradient are sums over these alone
    seconds: float  #: since the start of the run
    floor: float  #: the floor in use, relative to the mean power


class History:
    """One row per outer iteration; every field of `Row` is also a column: ``history.objective``.

    Of `TLNMF.partial_fit`, one row per step, the last 10,000 at most.
    """

    def __init__(self, start: float) -> None:
        self.start = start  #: objective before the first iteration
        self.rows: list[Row] = []

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> Row:
        return self.rows[index]

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name not in Row._fields:
            raise AttributeError(f"History has no column {name!r}; it has {', '.join(Row._fields)}")
        column = [getattr(row, name) for row in self.rows]
        if name != "steps":
            return np.array(column)
        steps = np.empty(len(column), dtype=object)
        steps[:] = column
        return steps

    @property
    def best_so_far(self) -> Array:
        """The start and then the best objective after each iteration, at the target floor."""
        return np.minimum.accumulate(np.concatenate([[self.start], self.target_objective]))

    def to_json(self) -> dict[str, Any]:
        """Return all rows as values that JSON can hold."""
        return {"start": self.start, "rows": [list(row) for row in self.rows]}

    @classmethod
    def from_json(cls, saved: Any) -> History:
        """Return the history that `to_json` wrote; raise if it holds anything but numbers."""
        history = cls(finite("start", saved["start"]))
        for values in saved["rows"]:
            row = Row(*values)
            for name, value in row._asdict().items():
                no_transform_is_learned = name == "gradient" and value != value  # NaN
                if not no_transform_is_learned and name != "steps":
                    finite(name, value)
            steps = tuple(finite("steps", step) for step in row.steps)
            history.rows.append(row._replace(steps=steps))
        return history

    def __repr__(self) -> str:
        end = f", objective {self.start:.6g} → {self.rows[-1].objective:.6g}" if self.rows else ""
        return f"<History: {len(self)} outer iterations{end}>"


def finite(name: str, value: Any) -> Any:
    """Return a number of a history that was read from a file."""
    if not (isinstance(value, (int, float)) and math.isfinite(value)):
        raise InvalidValue(f"its history says {name} = {shown(value)}")
    return value


@dataclass(frozen=True, eq=False)
class State:
    """The argument of a callback, which is called after each outer iteration.

    The arrays are those of the run: do not change them. `objective` is at the floor in use and may
    rise while an annealed floor falls. The best objective so far at the target floor is the minimum
    of ``state.history.target_objective``.
    """

    iteration: int
    objective: float  #: C at the floor in use, the last of ``history.objective``
    history: History
    Phi: Array
    W: Array | None
    scale: float = 1.0  #: root mean square of Y


#: A function that is called after each outer iteration; the fit stops if it returns True.
Callback: TypeAlias = Callable[[State], object]
