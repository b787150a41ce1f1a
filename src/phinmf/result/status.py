"""Why a run stopped."""

from __future__ import annotations

from enum import Enum


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
