"""The contract of a solver: L steps that lower L(Φ) while v̂ is fixed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from phinmf._types import Array
from phinmf.arrays import namespace
from phinmf.engines import Objective
from phinmf.linalg.manifold import Retraction

FARTHEST = 100.0  #: radians that a step may turn a pair of atoms; useful steps turn by less than π


class Trial(NamedTuple):
    """A point on a search curve: the scalars a line search sees, and what they were made from."""

    eta: float
    loss: float
    slope: float
    T: Array
    G: Array


@dataclass
class Descent:
    """Where a solver stands, from the start of its update to the end."""

    Phi: Array
    loss: float
    G: Array
    memory: Any = None  #: what the solver keeps from one update to the next
    steps: list[float] = field(default_factory=list)  #: accepted step lengths
    failed: bool = False  #: the last line search found no lower point

    @classmethod
    def start(cls, Phi: Array, objective: Objective, memory: Any = None) -> Descent:
        """Stand at Φ."""
        here = objective.at()
        return cls(Phi, here.loss, here.G, memory)

    def goes_on(self, objective: Objective, n_iter: int) -> bool:
        """Whether there is another step to make, and time for it."""
        made = len(self.steps)
        return not self.failed and made < n_iter and not (made and objective.out_of_time())

    def accept(self, objective: Objective, trial: Trial) -> None:
        """Step to a trial point: its gradient is the one the next iteration needs."""
        objective.move(trial.T)
        self.Phi = objective.algebra.product(trial.T, self.Phi)
        self.loss, self.G = trial.loss, trial.G
        self.steps.append(trial.eta)


class Solver(ABC):
    """Algorithm A of the paper: Φ ← A(V̂, Y, Φ, L)."""

    @abstractmethod
    def update(self, Phi: Array, objective: Objective, n_iter: int, memory: Any = None) -> Descent:
        """Make at most `n_iter` steps from Φ; the loss never rises.

        A failed line search ends the update with ``failed=True``, which is no error. After the
        first step, ``objective.out_of_time()`` ends it, too.
        """

    def pack(self, memory: Any) -> dict[str, Array]:
        """The memory as arrays, for a checkpoint; here for None or a number."""
        return {} if memory is None else {"value": np.array(memory)}

    def fits(self, arrays: dict[str, Array], M: int) -> bool:
        """Whether arrays of NumPy, from a file, can be a memory for an M×M transform."""
        value = arrays.get("value")
        return value is None or (value.dtype.kind == "f" and 0 <= float(value) < np.inf)

    def unpack(self, arrays: dict[str, Array], Phi: Array) -> Any:
        """The memory again, from arrays where Φ is."""
        return arrays["value"].item() if arrays else None


def within_reach(E: Array) -> Array:
    """A direction whose unit step turns no pair too far, which next to no curvature may ask for."""
    return E.clip(-FARTHEST, FARTHEST)


def curve(objective: Objective, E: Array, retraction: Retraction) -> Callable[[float], Trial]:
    """η ↦ L(R(ηE)Φ) for E within reach, as a line search wants it.

    Turned too far, R(ηE) is orthogonal no more, for rounding, and its loss would say nothing.
    """
    xp = namespace(E)

    def too_far(eta: float) -> bool:
        return eta > 1 and eta * float(xp.max(xp.abs(E))) > FARTHEST

    def trial(eta: float) -> Trial:
        if too_far(eta):
            return Trial(eta, np.inf, np.nan, E, E)  # no step: nothing looks at its T and G
        T = retraction.point(E, eta, objective.algebra)
        here = objective.at(T)
        return Trial(eta, here.loss, retraction.slope(here.G, E, eta, T), T, here.G)

    return trial
