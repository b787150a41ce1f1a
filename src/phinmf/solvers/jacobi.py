"""Jacobi search (Wendt et al. 2018): Givens rotations, equation (6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from phinmf import checks
from phinmf._types import Array, Indices
from phinmf.engines import Objective
from phinmf.entries import Entry, Table
from phinmf.linalg.manifold import givens
from phinmf.solvers.base import Descent, Memory, Solver

POSITIVE = np.geomspace(1e-6, np.pi / 2, 20)
GRID = np.concatenate([-POSITIVE[::-1], [0.0], POSITIVE])


@dataclass(frozen=True)
class Jacobi(Solver):
    """One step rotates M/2 disjoint pairs of atoms, each by the best angle of a grid.

    The loss has many local minima in the angle, so a grid is searched: 0 and ± geometric angles,
    then a finer grid around the best. The pairs follow a round-robin schedule, which meets every
    pair once per sweep. If atoms share their power (`pairs` of `tl_nmf`), the two that share it do
    not meet, since their rotation changes nothing.

    Parameters
    ----------
    n_refine : int
        Number of angles of the finer grid.
    """

    needs_pair_losses: ClassVar[bool] = True
    memory_table: ClassVar[Table] = {"value": Entry("", "int64", "nonnegative", "value")}

    n_refine: int = 9

    def __post_init__(self) -> None:
        checks.count("n_refine", self.n_refine, 1)

    def update(
        self, Phi: Array, objective: Objective, n_iter: int, memory: Memory = None
    ) -> Descent:
        """Make `n_iter` rounds; `memory` counts the rounds made so far."""
        state = Descent(Phi, np.nan, Phi, memory or 0)
        M = len(Phi)
        while state.goes_on(objective, n_iter):
            p, q = atoms_to_rotate(M, state.memory, objective.atoms_per_power)
            state.memory += 1
            theta = self.best_angles(objective, p, q)
            if theta.any():
                T = givens(M, p, q, theta, where=Phi)
                objective.move(T)
                state.Phi = T @ state.Phi
            state.steps.append(float(np.abs(theta).max(initial=0)))
        state.loss, state.G = objective.evaluate()
        return state

    def best_angles(self, objective: Objective, p: Indices, q: Indices) -> NDArray[np.float64]:
        """Return the angle of minimum loss for each pair; 0 if no angle is better than 0."""
        pairs = np.arange(len(p))
        angles = np.tile(GRID, (len(p), 1))
        losses = objective.pair_losses(p, q, angles)
        best = np.where(np.isfinite(losses), losses, np.inf).argmin(axis=1)
        left = GRID[np.maximum(best - 1, 0)]
        right = GRID[np.minimum(best + 1, len(GRID) - 1)]
        finer = np.linspace(left, right, self.n_refine + 2, axis=1)[:, 1:-1]
        angles = np.concatenate([angles, finer], axis=1)
        losses = np.concatenate([losses, objective.pair_losses(p, q, finer)], axis=1)
        best = np.where(np.isfinite(losses), losses, np.inf).argmin(axis=1)
        start = losses[:, len(POSITIVE)]  # at angle 0
        return np.asarray(np.where(losses[pairs, best] < start, angles[pairs, best], 0.0))


def atoms_to_rotate(M: int, number: int, shared: int) -> tuple[Indices, Indices]:
    """Return the disjoint pairs of atoms of a round, for atoms of which `shared` share a power.

    No two rotations of a round change the same power, so that their losses add up.
    """
    meeting, which = divmod(number, shared**2)
    p, q = round_robin(M // shared, meeting)
    first, second = divmod(which, shared)
    return shared * p + first, shared * q + second


def round_robin(M: int, number: int) -> tuple[Indices, Indices]:
    """Return the disjoint pairs of a round: M - 1 rounds (M if odd) contain every pair once."""
    seats = M + M % 2  # for odd M, one atom is left out of each round
    ring = np.roll(np.arange(1, seats), number % max(seats - 1, 1))
    order = np.concatenate([[0], ring])
    p, q = order[: seats // 2], order[seats // 2 :][::-1]
    real = (p < M) & (q < M) & (p != q)
    return p[real], q[real]
