"""L(TΦ) of the blocked engine: v̂ is computed block by block and never held as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phinmf._types import Array, Indices
from phinmf.engines.base import Evaluation, Objective

if TYPE_CHECKING:
    from phinmf.engines.blocked.engine import BlockedEngine


class BlockedObjective(Objective):
    """What sums over blocks mean; with W the model is WH, without it a given (N, M) array."""

    def __init__(
        self, engine: BlockedEngine, W: Array | None, V_hat: Array | None, eps: float
    ) -> None:
        self.engine = engine
        self.algebra = engine.algebra
        self.W = W
        self.V_hat = V_hat
        self.eps = eps

    def at(self, T: Array | None = None) -> Evaluation:
        self.evaluations += 1
        engine = self.engine
        engine.trial = None
        loss, G = self._sums("at", T)
        G /= engine.dtype.type(engine.shape[0])
        engine.trial = T
        return Evaluation(loss, G)

    def loss(self) -> float:
        return float(self._sums("loss")[0])

    def move(self, T: Array) -> None:
        self.engine.move(T)

    def bound(self) -> Array:
        return np.asarray(self._sums("curvature", False)[0])

    def curvature(self) -> Array:
        return np.asarray(self._sums("curvature", True)[0])

    def pair_losses(self, p: Indices, q: Indices, angles: Array) -> Array:
        self.evaluations += angles.shape[1]
        return np.asarray(self._sums("pair_losses", p, q, angles)[0])

    def _sums(self, name: str, *args: Any) -> list[Any]:
        if self.V_hat is not None:
            self.engine.set_model(self.V_hat)
        return self.engine.sums(name, self.W, self.eps, *args)
