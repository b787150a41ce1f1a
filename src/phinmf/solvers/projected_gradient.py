"""Projected gradient (Fagot et al. 2018), equation (5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phinmf._types import Array
from phinmf.arrays import identity, namespace
from phinmf.engines import Objective
from phinmf.linalg.line_search import Origin, backtracking
from phinmf.linalg.manifold import inner, polar, skew
from phinmf.solvers.base import Descent, Solver, Trial


@dataclass(frozen=True)
class ProjectedGradient(Solver):
    """Φ ← Π((I - ηG)Φ), with backtracking from twice the last accepted step."""

    def update(self, Phi: Array, objective: Objective, n_iter: int, memory: Any = None) -> Descent:
        """Make at most `n_iter` gradient steps; `memory` is the last accepted step."""
        at = Descent.start(Phi, objective, memory)
        while at.goes_on(objective, n_iter):
            slope = -inner(at.G, skew(at.G))
            if at.memory is None:  # the first trial rotates the fastest atom by about 0.1
                xp = namespace(at.G)
                turns = xp.linalg.vector_norm(skew(at.G), axis=-1)
                eta = 0.1 / max(float(xp.max(turns)), 1e-300)
            else:
                eta = 2 * at.memory
            best = backtracking(self.curve(objective, at.G), Origin(at.loss, slope), eta)
            if best is None:
                at.failed = True
                break
            at.accept(objective, best)
            at.memory = best.eta
        return at

    def curve(self, objective: Objective, G: Array) -> Any:
        """Return the function η ↦ L(Π(I - ηG)Φ), without slopes: backtracking needs none."""
        I = identity(len(G), G)

        def trial(eta: float) -> Trial:
            T = polar(I - eta * G)
            here = objective.evaluate(T)
            return Trial(eta, here.loss, np.nan, T, here.G)

        return trial
