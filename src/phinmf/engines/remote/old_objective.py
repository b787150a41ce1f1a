"""L(TΦ) as sums over shards: v̂ is computed block by block and never held as a whole."""

from __future__ import annotations

from phinmf._types import Array
from phinmf.engines.base import Evaluation, Objective
from phinmf.engines.remote.old_shard import Shard
from phinmf.engines.remote.old_shards import Shards
from phinmf.linalg.algebra import Algebra


class CompiledObjective(Objective):
    """The model of the power is WH, or without W a given (N, M) array V̂."""

    def __init__(
        self,
        shards: Shards,
        algebra: Algebra,
        n_channels: int,
        eps: float,
        *,
        W: Array | None = None,
        V_hat: Array | None = None,
    ) -> None:
        self.algebra = algebra
        self.n_channels = n_channels
        self.eps = eps
        self.W = W
        self.V_hat = V_hat
        self._shards = shards
        self._bound: Array | None = None  #: what `bound` returns, if it is known

    def evaluate(self, T: Array | None = None) -> Evaluation:
        self.evaluations += 1
        loss, G = self.shards.evaluate(self.W, self.eps, T)
        G /= G.dtype.type(self.n_channels)
        return Evaluation(loss, G)

    def loss(self) -> float:
        return float(self.shards.sums(Shard.loss, self.W, self.eps)[0])

    def move(self, T: Array) -> None:
        self._bound = None
        self._shards.move(T)

    def bound(self) -> Array:
        known, self._bound = self._bound, None
        return self._curvature(exact=False)[0] if known is None else known

    def curvature(self) -> Array:
        exact, self._bound = self._curvature(exact=True)  # solvers ask for both
        return exact

    def _curvature(self, exact: bool) -> list[Array]:
        found: list[Array] = self.shards.sums(Shard.curvature, self.W, self.eps, exact)
        return found

    @property
    def shards(self) -> Shards:
        """The shards, which hold the given model if there is one."""
        if self.V_hat is not None:
            self._shards.give_model(self.V_hat)
        return self._shards
