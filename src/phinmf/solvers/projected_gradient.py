"""Projected gradient (Fagot et al. 2018), equation (5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from phinmf._types import Array
from phinmf.arrays import identity, namespace
from phinmf.engines import Objective
from phinmf.linalg.line_search import Origin, backtracking
from phinmf.linalg.manifold import inner, polar, skew
from phinmf.solvers.base import Descent, Memory, Solver, Trial


@dataclass(frozen=True)
class ProjectedGradient(Solver):
    """Φ ← Π((I - ηG)Φ), with backtracking from twice the last accepted step."""

    def update(
        self, Phi: Array, objective: Objective, n_iter: int, memory: Memory = None
    ) -> Descent:
        """Make at most `n_iter` gradient steps; `memory` is the last accepted step."""
        state = Descent.start(Phi, objective, memory)
        while state.goes_on(objective, n_iter):
            slope = -inner(state.G, skew(state.G))
            if state.memory is None:  # the first trial rotates the fastest atom by about 0.1
                xp = namespace(state.G)
                turns = xp.linalg.vector_norm(skew(state.G), axis=-1)
                eta = 0.1 / max(float(xp.max(turns)), 1e-300)
            else:
                eta = 2 * state.memory
            best = backtracking(self.curve(objective, state.G), Origin(state.loss, slope), eta)
            if best is None:
                state.failed = True
                break
            state.accept(objective, best)
            state.memory = best.eta
        return state

    def curve(self, objective: Objective, G: Array) -> Callable[[float], Trial]:
        """Return the function η ↦ L(Π(I - ηG)Φ), without slopes: backtracking needs none."""
        I = identity(len(G), G)

        def trial(eta: float) -> Trial:
            T = polar(I - eta * G)
            loss, G_trial = objective.evaluate(T)
            return Trial(eta, loss, np.nan, T, G_trial)

        return trial
