"""The fields of a result."""

from __future__ import annotations

from dataclasses import dataclass

from phinmf._types import Array
from phinmf.result.history import History
from phinmf.result.status import Status
from phinmf.result.terms import Terms


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
