"""The result of a run: the factors, its history, and why it stopped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from phinmf._types import Array
from phinmf.divergences import Divergence
from phinmf.penalties import Penalty


class Status(Enum):
    """Why a run stopped; each value is a sentence to show to the user."""

    SMALL_DECREASE = "converged: the objective decreased by less than tol, relative to its value"
    SMALL_GRADIENT = "converged: the relative gradient of the transform fell below tol"
    LINE_SEARCH = "stopped: the line search found no lower point along the search direction"
    STREAM_ENDED = "finished: the stream ended"
    MAX_ITER = "stopped: max_iter outer iterations were made"
    MAX_TIME = "stopped: max_time seconds had passed"
    CALLBACK = "stopped: the callback asked for it"
    INTERRUPTED = "stopped: interrupted from the keyboard; this is the best result so far"
    ROSE = "stopped: the objective rose from one outer iteration to the next, which is an error"
    NOT_BETTER = "stopped: what was found is worse than the start, so this is the start itself"

    @property
    def converged(self) -> bool:
        """Whether the run stopped because it converged."""
        return self.value.startswith("converged")

    @property
    def failed(self) -> bool:
        """Whether the objective rose, so that the divergence or a compiled function is wrong."""
        return self in (Status.ROSE, Status.NOT_BETTER)


class Row(NamedTuple):
    """Measurements of one outer iteration.

    For a stream, of one step: what its block costs before anything is learned from it, at the
    target floor. The other columns are those of the last iteration of the fit on the window; if the
    step made none, there are no steps, and the gradient is NaN.
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

    Of a stream, one row per step, the last 10,000 at most.
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

    def to_json(self) -> dict[str, Any]:
        """Return all rows as values that JSON can hold."""
        return {"start": self.start, "rows": [list(row) for row in self.rows]}

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> History:
        """Return the history that `to_json` wrote."""
        history = cls(float(saved["start"]))
        for values in saved["rows"]:
            row = Row(*values)
            history.rows.append(row._replace(steps=tuple(row.steps)))
        return history

    def __repr__(self) -> str:
        end = f", objective {self.start:.6g} → {self.rows[-1].objective:.6g}" if self.rows else ""
        return f"<History: {len(self)} outer iterations{end}>"


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


class Terms(NamedTuple):
    """The two terms of an objective, with which activations of new frames are found, too."""

    divergence: Divergence
    penalty: Penalty


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """A learned transform and, from `tl_nmf`, the factors of the power in this transform.

    Attributes
    ----------
    Phi : (M, M) array
        The orthogonal transform; its rows are the atoms.
    W : (M, K) array or None
        Spectral patterns, columns summing to 1.
    H : (K, N) array or None
        Activations, in the units of Y²; None for a stream.
    objective : float
        C(Φ, W, H) at the target floor, with Y scaled to unit power. Divide by M·N for "per entry".
        For a stream, the sum over its steps (`Row`).
    divergence, penalty : float
        The two terms of the objective.
    terms : Terms or None
        The `Divergence` and the `Penalty` that these are values of; None from `learn_transform`.
    history : History
        One row per outer iteration.
    status : Status
        Why the run stopped; ``status.value`` is a sentence.
    floor : float
        The floor ε in the units of Y²: the model of the power is WH + ε.
    scale : float
        Root mean square of Y.
    n_atoms : int
        Number of atoms that were learned. If it is less than M, they are the first rows of Φ (with
        `learn_transform`, those of the strongest rows of V̂), and the others an orthonormal basis of
        the rest: the weaker eigenvectors of the covariance, if M is below 2048.
    energy : float
        Share of the energy of the frames that these atoms hold.
    """

    Phi: Array
    W: Array | None
    H: Array | None
    objective: float
    divergence: float
    penalty: float
    history: History
    status: Status
    floor: float
    scale: float
    n_atoms: int
    energy: float = 1.0
    terms: Terms | None = None

    @property
    def converged(self) -> bool:
        """Whether the run stopped because it converged."""
        return self.status.converged

    @property
    def n_iter(self) -> int:
        """Number of outer iterations made."""
        return len(self.history)

    def __repr__(self) -> str:
        M, K = len(self.Phi), None if self.W is None else self.W.shape[1]
        size = f"M={M}" if K is None else f"M={M}, K={K}"
        return (
            f"<Result: {size}, objective {self.objective:.6g} after {self.n_iter} outer iterations,"
            f" {self.status.value}>"
        )
