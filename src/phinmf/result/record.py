"""The fields of a result, and why its run stopped."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from phinmf._types import Array
from phinmf.result.history import History
from phinmf.result.terms import Terms


class Status(Enum):
    """Why a run stopped; each value is a sentence to show to the user."""

    SMALL_DECREASE = "converged: the objective decreased by less than tol, relative to its value"
    SMALL_GRADIENT = "converged: the relative gradient of the transform fell below tol"
    LINE_SEARCH = "stopped: the line search found no lower point along the search direction"
    MAX_ITER = "stopped: max_iter outer iterations were made"
    MAX_TIME = "stopped: max_time seconds had passed"
    CALLBACK = "stopped: the callback asked for it"
    INTERRUPTED = "stopped: interrupted from the keyboard; this is the best result so far"
    ROSE = "stopped: the objective rose from one outer iteration to the next, which is an error"
    NOT_FINITE = "stopped: the objective became NaN or infinite; this is the result before that"
    NOT_BETTER = "stopped: what was found is worse than the start, so this is the start itself"

    @property
    def converged(self) -> bool:
        """Whether the run stopped because it converged."""
        return self in (Status.SMALL_DECREASE, Status.SMALL_GRADIENT)

    @property
    def failed(self) -> bool:
        """Whether the divergence or a compiled function must be wrong."""
        return self in (Status.ROSE, Status.NOT_FINITE, Status.NOT_BETTER)


@dataclass(frozen=True, eq=False, repr=False)
class Record:
    """What a run returns; `Result` explains each field, and adds what can be done with them."""

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
