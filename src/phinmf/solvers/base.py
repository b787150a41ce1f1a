"""The contract of a solver, and what solvers share: curvatures of pairs of atoms, search curves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from phinmf._types import Array
from phinmf.arrays import divided, namespace
from phinmf.engines import Objective
from phinmf.entries import Entry, Table
from phinmf.linalg.manifold import Retraction

#: What a solver remembers from one update to the next; None at the start.
Memory: TypeAlias = Any
FARTHEST = 100.0  #: maximum rotation of a pair of atoms in one step; useful ones are less than π
LEAST_CURVATURE = 0.2  #: of the exact metric, as a share of its bound


class Trial(NamedTuple):
    """A point on a search curve: the numbers for the line search, and the T and G behind them."""

    eta: float
    loss: float
    slope: float
    T: Array
    G: Array


@dataclass
class Descent:
    """The state of a solver during one update."""

    Phi: Array
    loss: float
    G: Array
    memory: Memory = None
    steps: list[float] = field(default_factory=list)  #: accepted step lengths
    failed: bool = False  #: the last line search found no lower point

    @classmethod
    def start(cls, Phi: Array, objective: Objective, memory: Memory = None) -> Descent:
        """Return the state at Φ, before the first step."""
        loss, G = objective.evaluate()
        return cls(Phi, loss, G, memory)

    def goes_on(self, objective: Objective, n_iter: int) -> bool:
        """Whether another step is allowed, and there is time for it."""
        made = len(self.steps)
        return not self.failed and made < n_iter and not (made and objective.out_of_time())

    def accept(self, objective: Objective, trial: Trial) -> None:
        """Move to a trial point; its gradient is the one that the next step needs."""
        objective.move(trial.T)
        self.Phi = objective.algebra.product(trial.T, self.Phi)
        self.loss, self.G = trial.loss, trial.G
        self.steps.append(trial.eta)


class Solver(ABC):
    """Algorithm A of the paper: Φ ← A(V̂, Y, Φ, L).

    Attributes
    ----------
    anneals_by_default : bool
        Whether `anneal=None` means a schedule of floors with this solver.
    needs_pair_losses : bool
        Whether it calls `Objective.pair_losses`, which the array engine alone computes.
    memory_table : Table
        What a checkpoint holds of the memory, D being the number of pairs of atoms; here None or a
        number that is not negative.
    """

    anneals_by_default: ClassVar[bool] = False
    needs_pair_losses: ClassVar[bool] = False
    memory_table: ClassVar[Table] = {"value": Entry("", "float64", "nonnegative", "value")}

    @abstractmethod
    def update(
        self, Phi: Array, objective: Objective, n_iter: int, memory: Memory = None
    ) -> Descent:
        """Make at most `n_iter` steps from Φ; the loss never rises.

        If a line search finds no lower point, the update ends with ``failed=True``; nothing is
        raised. After the first step it also ends when ``objective.out_of_time()``.
        """

    def grown(self, memory: Memory, M: int, where: Array) -> Memory:
        """Return the memory after atoms were added, up to M; this version is for None or a number.

        The new atoms come last. Arrays are like `where`.
        """
        return memory

    def forget(self, memory: Memory) -> Memory:
        """Return the memory after an abrupt change of the objective; here without a change."""
        return memory

    def pack(self, memory: Memory) -> dict[str, Any]:
        """Return the memory as the values of `memory_table`, for a checkpoint."""
        return {"value": memory}

    def unpack(self, values: dict[str, Any], Phi: Array) -> Memory:
        """Return the memory from these values; arrays are where Φ is."""
        return values["value"]


def bounded(objective: Objective, G: Array) -> Array:
    """h_ij + h_ji: the paper's sparse Hessian (12), acting on antisymmetric matrices."""
    h = objective.bound()
    return h + h.mT


def exact(objective: Objective, G: Array) -> Array:
    """Second derivative for a rotation of the pair (i,j) alone, at least a share of its bound.

    c_ij = Σ_n f''(x_in) x_jn² + Σ_n f''(x_jn) x_in² - G_ii - G_jj, from (9). (With several
    channels Σ f''v is an upper bound of the first two terms, by Cauchy-Schwarz.)
    """
    xp, c = namespace(G), objective.curvature()
    diagonal = xp.linalg.diagonal(G)
    pairs = c + c.mT - (diagonal[:, None] + diagonal[None, :])
    return xp.maximum(pairs, LEAST_CURVATURE * bounded(objective, G))


METRICS = {"bound": bounded, "exact": exact}


def precondition(G: Array, pair_curvature: Array) -> Array:
    """E_ij = (G_ij - G_ji) / pair_curvature_ij, 0 where that is 0.

    -E minimises the quadratic model ⟨G|E⟩ + ½ Σ_{i<j} pair_curvature_ij e_ij² over the
    antisymmetric matrices, so it always points downhill.
    """
    return divided(G - G.mT, pair_curvature, namespace(G).zeros_like(G))


def within_reach(E: Array) -> Array:
    """Limit a direction so that its unit step rotates no pair of atoms by more than `FARTHEST`.

    Where the curvature is nearly 0, the direction can be almost infinite.
    """
    return E.clip(-FARTHEST, FARTHEST)


def curve(objective: Objective, E: Array, retraction: Retraction) -> Callable[[float], Trial]:
    """Return the function η ↦ L(R(ηE)Φ) for a line search, for E within reach.

    For too large a rotation, rounding makes R(ηE) far from orthogonal and its loss meaningless.
    """
    xp = namespace(E)

    def trial(eta: float) -> Trial:
        if eta > 1 and eta * float(xp.max(xp.abs(E))) > FARTHEST:
            return Trial(eta, np.inf, np.nan, E, E)  # never accepted: T and G are not used
        T = retraction.point(E, eta, objective.algebra)
        loss, G = objective.evaluate(T)
        return Trial(eta, loss, retraction.slope(G, E, eta, T), T, G)

    return trial
