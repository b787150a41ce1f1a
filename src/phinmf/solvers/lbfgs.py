"""Preconditioned L-BFGS in the Lie algebra: Picard-O (Ablin et al. 2018) applied to (3)."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from phinmf import checks
from phinmf._types import Array, Indices, Precision
from phinmf.arrays import cast, copied, divided, dtype_of, like, namespace, zeros
from phinmf.engines import Objective
from phinmf.linalg.line_search import Origin, strong_wolfe
from phinmf.linalg.manifold import RETRACTIONS
from phinmf.solvers.base import METRICS, Descent, Solver, curve, within_reach

LARGEST = 1e60  #: magnitude of a number of the memory in a file


class Pair(NamedTuple):
    """A step and the change of the gradient along it."""

    s: Array
    y: Array
    rho: float  #: 1 / ⟨s|y⟩

    def to(self, dtype: Precision) -> Pair:
        """Return the pair in another precision."""
        return Pair(cast(self.s, dtype), cast(self.y, dtype), self.rho)


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
        the unit step is a good first trial. Pairs may be of a lower precision than g. Nothing is
        copied from the device to the host.
        """
        pairs = [p if p.s.dtype == g.dtype else p.to(dtype_of(g)) for p in self.pairs]
        q, alphas = copied(g), []
        for s, y, rho in reversed(pairs):
            alphas.append(rho * (s @ q))
            q -= alphas[-1] * y
        xp = namespace(g)
        r = divided(q, metric, xp.zeros_like(q))
        if self.pairs:
            _, y, rho = self.pairs[-1]
            scale = rho * (y @ divided(y, metric, xp.zeros_like(y)))
            r /= xp.where(scale > 0, scale, 1)
        for (s, y, rho), alpha in zip(pairs, reversed(alphas), strict=True):
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

    def pack(self, memory: Pairs | None) -> dict[str, Array]:
        """Return pairs, metric and age as arrays."""
        if memory is None or memory.metric is None:
            return {}
        arrays: dict[str, Array] = {"curvature": memory.metric, "age": np.array(memory.age)}
        for i, pair in enumerate(memory.pairs):
            arrays |= {f"s{i}": pair.s, f"y{i}": pair.y, f"rho{i}": np.array(pair.rho)}
        return arrays

    def fits(self, arrays: dict[str, Array], M: int) -> bool:
        """Whether the arrays are a metric, an age and at most `memory_size` pairs."""
        n, size = (len(arrays) - 2) // 3, (M * (M - 1) // 2,)
        shapes = {"curvature": size, "age": ()}
        for i in range(n):
            shapes |= {f"s{i}": size, f"y{i}": size, f"rho{i}": ()}
        return (
            n <= self.memory_size
            and arrays.keys() == shapes.keys()
            and all(
                a.shape == shapes[name]
                and (a.dtype.kind == "i" if name == "age" else a.dtype in (np.float32, np.float64))
                and (np.abs(a.astype(np.float64)) < LARGEST).all()
                for name, a in arrays.items()
            )
        )

    def unpack(self, arrays: dict[str, Array], Phi: Array) -> Pairs | None:
        """Return the memory from its arrays."""
        if not arrays:
            return None
        memory = self.empty(Phi)
        memory.metric, memory.age = arrays["curvature"], int(arrays["age"])
        for i in range((len(arrays) - 2) // 3):
            memory.pairs.append(Pair(arrays[f"s{i}"], arrays[f"y{i}"], float(arrays[f"rho{i}"])))
        return memory

    def update(
        self, Phi: Array, objective: Objective, n_iter: int, memory: Pairs | None = None
    ) -> Descent:
        """Make at most `n_iter` steps; `memory` has the pairs of earlier updates."""
        if memory is None or len(Phi) != memory.M:  # a longer schedule may go back to fewer atoms
            memory = self.empty(Phi)
        state = Descent.start(Phi, objective, memory)
        metric, dtype = memory.metric, dtype_of(state.G)
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
