"""Algorithm 2 of the paper: quasi-Newton steps along exp(ηE)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from phinmf import checks
from phinmf._types import Array
from phinmf.engines import Objective
from phinmf.linalg.line_search import Origin, strong_wolfe
from phinmf.linalg.manifold import RETRACTIONS, inner, skew
from phinmf.solvers.base import (
    METRICS,
    Descent,
    Memory,
    Solver,
    curve,
    precondition,
    within_reach,
)


@dataclass(frozen=True)
class QuasiNewton(Solver):
    """The paper's method, with the minimiser of its quadratic model as direction.

    Parameters
    ----------
    metric : {"bound", "exact", "printed"}
        "bound" is the paper's curvature (12); "exact" the exact curvature of each pair of atoms,
        but at least a share of (12); "printed" the boxed update (13) exactly as printed,
        -Π_A(G/h), for comparison only: it can be a direction of ascent.
    retraction : {"exp", "cayley"}
        The curve of the steps.
    """

    metric: Literal["bound", "exact", "printed"] = "bound"
    retraction: Literal["exp", "cayley"] = "exp"

    def __post_init__(self) -> None:
        checks.choice("metric", self.metric, (*METRICS, "printed"))
        checks.choice("retraction", self.retraction, RETRACTIONS)

    def update(
        self, Phi: Array, objective: Objective, n_iter: int, memory: Memory = None
    ) -> Descent:
        """Make at most `n_iter` quasi-Newton steps."""
        state = Descent.start(Phi, objective)
        while state.goes_on(objective, n_iter):
            E = within_reach(self.direction(objective, state.G))
            trial = curve(objective, E, RETRACTIONS[self.retraction])
            best = strong_wolfe(trial, Origin(state.loss, slope=inner(state.G, E)))
            if best is None:
                state.failed = True
                break
            state.accept(objective, best)
        return state

    def direction(self, objective: Objective, G: Array) -> Array:
        """E_ij = -(G_ij - G_ji) / (h_ij + h_ji)."""
        if self.metric == "printed":
            return -skew(G / objective.bound())
        return -precondition(G, METRICS[self.metric](objective, G))
