"""Preconditioned L-BFGS in the Lie algebra: Picard-O (Ablin et al. 2018) applied to (3)."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from phinmf import checks
from phinmf._types import Array, Indices
from phinmf.arrays import cast, copied, divided, dtype_of, like, namespace, to_numpy, zeros
from phinmf.engines import Objective
from phinmf.entries import Entry, Table
from phinmf.linalg.line_search import Origin, strong_wolfe
from phinmf.linalg.manifold import RETRACTIONS
from phinmf.solvers.base import METRICS, Descent, Solver, curve, within_reach


class Pair(NamedTuple):
    """A step and the change of the gradient along it."""

    s: Array
    y: Array
    rho: float  #: 1 / ⟨s|y⟩


@dataclass
class Pairs:
    """The last pairs and the initial metric, which the next update begins with."""

    pairs: deque[Pair]
    upper: Indices = field(repr=False)  #: (M(M-1)/2,): flat indices above the diagonal
    metric: Array | None = field(default=None, repr=False)  #: curvatures of the pairs of atoms
    age: int = 0  #: number of updates since the metric was computed

    @property
    def M(self) -> int:
        """The number of atoms."""
        return (1 + math.isqrt(1 + 8 * len(self.upper))) // 2

    def vector(self, E: Array) -> Array:
        """Return the entries above the diagonal, which determine an antisymmetric matrix."""
        return E.take(self.upper)

    def matrix(self, e: Array) -> Array:
        """Return the antisymmetric matrix (M, M) with these entries above its diagonal."""
        E = zeros((self.M, self.M), e)
        E.reshape(-1)[self.upper] = e
        return E - E.mT

    def two_loop(self, g: Array, metric: Array) -> Array:
        """Inverse-Hessian approximation times g (Nocedal & Wright, Algorithm 7.4).

        The initial metric is scaled to the last pair, by ⟨s|y⟩ / ⟨y|y⟩ in that metric, so that
        the unit step is a good first trial. Nothing is copied from the device to the host.
        """
        q, alphas = copied(g), []
        for s, y, rho in reversed(self.pairs):
            alphas.append(rho * (s @ q))
            q -= alphas[-1] * y
        xp = namespace(g)
        r = divided(q, metric, xp.zeros_like(q))
        if self.pairs:
            _, y, rho = self.pairs[-1]
            scale = rho * (y @ divided(y, metric, xp.zeros_like(y)))
            r /= xp.where(scale > 0, scale, 1)
        for (s, y, rho), alpha in zip(self.pairs, reversed(alphas), strict=True):
            r += (alpha - rho * (y @ r)) * s
        return r


@dataclass(frozen=True)
class LBFGS(Solver):
    """L-BFGS steps whose initial metric is the curvature of each pair of atoms.

    Parameters
    ----------
    memory_size : int
        Maximum number of pairs (step, change of the gradient), also of earlier outer iterations.
    metric : {"bound", "exact"}
        Initial metric: the paper's (12), or the exact curvature of each pair of atoms, but at
        least a share of (12).
    metric_every : int
        Number of updates after which the metric is computed again.
    retraction : {"exp", "cayley"}
        The curve of the steps: Cayley's costs a tenth of the exponential.
    """

    memory_size: int = 5
    metric: Literal["bound", "exact"] = "exact"
    metric_every: int = 3
    retraction: Literal["exp", "cayley"] = "cayley"

    def __post_init__(self) -> None:
        object.__setattr__(self, "memory_size", checks.count("memory_size", self.memory_size, 0))
        checks.choice("metric", self.metric, ("bound", "exact"))
        checks.count("metric_every", self.metric_every, 1)
        checks.choice("retraction", self.retraction, RETRACTIONS)

    anneals_by_default = True
    memory_table: ClassVar[Table] = {
        "curvature": Entry("D", group="metric"),
        "age": Entry("", "int64", "nonnegative", "metric"),
        "s": Entry("n D", group="pairs"),
        "y": Entry("n D", group="pairs"),
        "rho": Entry("n", "float64", "positive", "pairs"),
    }

    def empty(self, where: Array) -> Pairs:
        """Return a memory without pairs, for an M×M transform."""
        upper = np.flatnonzero(np.tri(len(where), k=-1).T)
        return Pairs(deque(maxlen=self.memory_size), like(upper, where))

    def grown(self, memory: Pairs | None, M: int, where: Array) -> Pairs | None:
        """Return the same pairs between more atoms; the metric is computed again."""
        if memory is None:
            return None
        grown = self.empty(where)

        def padded(e: Array) -> Array:
            wide = zeros((M, M), e)
            wide[: memory.M, : memory.M] = memory.matrix(e)
            return grown.vector(wide)

        for s, y, rho in memory.pairs:
            grown.pairs.append(Pair(padded(s), padded(y), rho))
        return grown

    def forget(self, memory: Pairs | None) -> Pairs | None:
        """Return a memory without pairs: their curvature is that of another objective."""
        return None if memory is None else Pairs(deque(maxlen=self.memory_size), memory.upper)

    def pack(self, memory: Pairs | None) -> dict[str, Any]:
        """Return metric, age and pairs, each of them one array."""
        if memory is None or memory.metric is None or not len(memory.upper):
            return dict.fromkeys(self.memory_table)
        values = {"curvature": memory.metric, "age": memory.age, "s": None, "y": None, "rho": None}
        if memory.pairs:
            s, y, rho = zip(*memory.pairs, strict=True)
            stack = namespace(memory.metric).stack
            values |= {"s": stack(s), "y": stack(y), "rho": np.array(rho)}
        return values

    def unpack(self, values: dict[str, Any], Phi: Array) -> Pairs | None:
        """Return the memory from its arrays."""
        if values["curvature"] is None:
            return None
        memory = self.empty(Phi)
        memory.metric, memory.age = values["curvature"], values["age"]
        if values["rho"] is not None:
            rho = to_numpy(values["rho"]).tolist()
            memory.pairs.extend(map(Pair, values["s"], values["y"], rho))
        return memory

    def update(
        self, Phi: Array, objective: Objective, n_iter: int, memory: Pairs | None = None
    ) -> Descent:
        """Make at most `n_iter` steps; `memory` has the pairs of earlier updates."""
        if memory is None or len(Phi) != memory.M:  # a longer schedule may go back to fewer atoms
            memory = self.empty(Phi)
        state = Descent.start(Phi, objective, memory)
        metric, dtype = memory.metric, dtype_of(state.G)
        for i, (s, y, rho) in enumerate(memory.pairs):
            memory.pairs[i] = Pair(cast(s, dtype), cast(y, dtype), rho)
        if metric is None or dtype_of(metric) != dtype or memory.age % self.metric_every == 0:
            metric = memory.metric = memory.vector(METRICS[self.metric](objective, state.G))
        memory.age += 1
        g = memory.vector(state.G - state.G.mT)
        retraction = RETRACTIONS[self.retraction]
        while state.goes_on(objective, n_iter):
            e = within_reach(-memory.two_loop(g, metric))
            trial = curve(objective, memory.matrix(e), retraction)
            best = strong_wolfe(trial, Origin(state.loss, slope=float(g @ e)))
            if best is None:
                state.failed = not memory.pairs
                memory.pairs.clear()  # try again along the preconditioned gradient
                continue
            state.accept(objective, best)
            g, before = memory.vector(state.G - state.G.mT), g
            s, y = best.eta * e, g - before
            if (sy := float(s @ y)) > 0:
                memory.pairs.append(Pair(s, y, 1 / sy))
        return state
