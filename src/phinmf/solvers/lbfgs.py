"""Preconditioned L-BFGS in the Lie algebra: Picard-O (Ablin et al. 2018) applied to (3)."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from phinmf import checks
from phinmf._types import Array, Indices, Precision
from phinmf.arrays import cast, copied, divided, dtype_of, like, namespace, zeros
from phinmf.engines import Objective
from phinmf.linalg.line_search import Origin, strong_wolfe
from phinmf.linalg.manifold import RETRACTIONS
from phinmf.solvers.base import FARTHEST, Descent, Solver, curve, within_reach
from phinmf.solvers.metric import METRICS


class Pair(NamedTuple):
    """A step and the change of the gradient along it."""

    s: Array
    y: Array
    rho: float  #: 1 / ⟨s|y⟩

    def to(self, dtype: Precision) -> Pair:
        """Return the pair in another precision."""
        return Pair(cast(self.s, dtype), cast(self.y, dtype), self.rho)


@dataclass
class Memory:
    """The last pairs and the initial metric, kept from one update to the next."""

    pairs: deque[Pair]
    upper: Indices = field(repr=False)  #: flat indices above the diagonal
    curvature: Array | None = field(default=None, repr=False)  #: the initial metric
    age: int = 0  #: updates since the metric was computed

    @property
    def M(self) -> int:
        """The number of atoms."""
        return (1 + math.isqrt(1 + 8 * len(self.upper))) // 2

    def stale(self, metric_every: int, dtype: Precision) -> bool:
        """Whether the metric must be computed again: it is too old or of another precision."""
        c = self.curvature
        return c is None or dtype_of(c) != dtype or self.age % metric_every == 0

    def pack(self, E: Array) -> Array:
        """Return the entries above the diagonal, which determine an antisymmetric matrix."""
        return E.take(self.upper)

    def unpack(self, e: Array, M: int) -> Array:
        """Return the antisymmetric matrix with these entries above its diagonal."""
        E = zeros((M, M), e)
        E.reshape(-1)[self.upper] = e
        return E - E.mT

    def two_loop(self, g: Array) -> Array:
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
        r = self.weigh(q)
        if self.pairs:
            _, y, rho = self.pairs[-1]
            scale = rho * (y @ self.weigh(y))
            r /= namespace(g).where(scale > 0, scale, 1)
        for (s, y, rho), alpha in zip(pairs, reversed(alphas), strict=True):
            r += (alpha - rho * (y @ r)) * s
        return r

    def weigh(self, q: Array) -> Array:
        """Divide by the curvature of each pair of atoms; return 0 where it is 0."""
        c = self.curvature
        assert c is not None
        return divided(q, c, namespace(q).zeros_like(q))


@dataclass(frozen=True)
class LBFGS(Solver):
    """L-BFGS steps whose initial metric is the curvature of each pair of atoms.

    Parameters
    ----------
    memory_size : int
        Number of pairs (step, change of the gradient) kept, also across outer iterations.
    metric : {"bound", "exact"}
        Initial metric: the paper's (12), or the exact curvature of each pair of atoms, kept above
        a share of (12).
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
        checks.known("metric", self.metric, ("bound", "exact"))
        checks.count("metric_every", self.metric_every, 1)
        checks.known("retraction", self.retraction, RETRACTIONS)

    anneals_by_default = True

    def empty(self, where: Array) -> Memory:
        """Return a memory without pairs, for an M×M transform."""
        upper = np.flatnonzero(np.tri(len(where), k=-1).T)
        return Memory(deque(maxlen=self.memory_size), like(upper, where))

    def grown(self, memory: Memory | None, M: int, where: Array) -> Memory | None:
        """Return the same pairs between more atoms; the metric is computed again."""
        if memory is None:
            return None
        grown = self.empty(where)

        def padded(e: Array) -> Array:
            E = memory.unpack(e, memory.M)
            wide = zeros((M, M), e)
            wide[: memory.M, : memory.M] = E
            return grown.pack(wide)

        for s, y, rho in memory.pairs:
            grown.pairs.append(Pair(padded(s), padded(y), rho))
        return grown

    def forget(self, memory: Memory | None) -> Memory | None:
        """Return a memory without pairs: their curvature is that of another objective."""
        return None

    def pack(self, memory: Memory | None) -> dict[str, Array]:
        """Return pairs, metric and age as arrays."""
        if memory is None or memory.curvature is None:
            return {}
        arrays: dict[str, Array] = {"curvature": memory.curvature, "age": np.array(memory.age)}
        for i, pair in enumerate(memory.pairs):
            arrays |= {f"s{i}": pair.s, f"y{i}": pair.y, f"rho{i}": np.array(pair.rho)}
        return arrays

    def fits(self, arrays: dict[str, Array], M: int) -> bool:
        """Whether the arrays are a metric, an age and at most `memory_size` pairs."""
        n, size = (len(arrays) - 2) // 3, M * (M - 1) // 2
        names = {f"{part}{i}" for part in ("s", "y", "rho") for i in range(n)}
        if n > self.memory_size or arrays.keys() != names | {"curvature", "age"}:
            return False
        for name, a in arrays.items():
            single = name == "age" or name.startswith("rho")
            known = a.dtype.kind == "i" if name == "age" else a.dtype in (np.float32, np.float64)
            if not known or a.shape != (() if single else (size,)) or not np.isfinite(a).all():
                return False
            if (single or name == "curvature") and (a < 0).any():
                return False
        return all(belong(*(arrays[f"{part}{i}"] for part in ("s", "y", "rho"))) for i in range(n))

    def unpack(self, arrays: dict[str, Array], Phi: Array) -> Memory | None:
        """Return the memory from its arrays."""
        if not arrays:
            return None
        memory = self.empty(Phi)
        memory.curvature, memory.age = arrays["curvature"], int(arrays["age"])
        for i in range((len(arrays) - 2) // 3):
            memory.pairs.append(Pair(arrays[f"s{i}"], arrays[f"y{i}"], float(arrays[f"rho{i}"])))
        return memory

    def update(self, Phi: Array, objective: Objective, n_iter: int, memory: Any = None) -> Descent:
        """Make at most `n_iter` steps; `memory` holds the pairs of earlier updates."""
        M = len(Phi)
        if memory is None:
            memory = self.empty(Phi)
        at = Descent.start(Phi, objective, memory)
        if memory.stale(self.metric_every, dtype_of(at.G)):
            memory.curvature = memory.pack(METRICS[self.metric](objective, at.G))
        memory.age += 1
        g = memory.pack(at.G - at.G.mT)
        retraction = RETRACTIONS[self.retraction]
        while at.goes_on(objective, n_iter):
            e = within_reach(-memory.two_loop(g))
            E = memory.unpack(e, M)
            start = Origin(at.loss, slope=float(g @ e))
            best = strong_wolfe(curve(objective, E, retraction), start)
            if best is None:
                at.failed = not memory.pairs
                memory.pairs.clear()  # try again along the preconditioned gradient
                continue
            at.accept(objective, best)
            g, before = memory.pack(at.G - at.G.mT), g
            s, y = best.eta * e, g - before
            if (sy := float(s @ y)) > 0:
                memory.pairs.append(Pair(s, y, 1 / sy))
        return at


def belong(s: Array, y: Array, rho: Array) -> bool:
    """Whether ρ ⟨s|y⟩ = 1 up to rounding, and the step is within `FARTHEST`."""
    with np.errstate(over="ignore", invalid="ignore"):
        fits = abs(rho * (s @ y) - 1) <= 1e-3 + 1e-5 * rho * (abs(s) @ abs(y))
    return bool(fits and abs(s).max(initial=0) <= 1.01 * FARTHEST)
