"""L(TΦ) of the blocked engine: v̂ is computed block by block and never held as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from phinmf._types import Array, Indices
from phinmf.engines.base import Evaluation, Objective

if TYPE_CHECKING:
    from phinmf.engines.blocked import BlockedEngine


class BlockedObjective(Objective):
    """Everything is done to a block while it is in the cache."""

    def __init__(
        self, engine: BlockedEngine, model: Callable[[slice, Array], Array], eps: float
    ) -> None:
        self.engine = engine
        self.algebra = engine.algebra
        self.model = model
        self.eps = engine.dtype.type(eps)
        self.trial: Array | None = None  # the T whose TX is in the engine's spare array

    def at(self, T: Array | None = None) -> Evaluation:
        self.evaluations += 1
        engine = self.engine
        self.trial = None
        X = engine.X if T is None else engine.spare
        Tt = None if T is None else T.T.astype(engine.dtype, copy=False)

        def one(block: slice) -> tuple[float, Array]:
            here = X[:, block]
            if Tt is not None:
                np.matmul(engine.X[:, block], Tt, out=here)
            WH = self.model(block, engine.scratch("WH", *here.shape[1:]))
            F = engine.scratch("F", *here.shape)
            loss = self._loss_and_slope(block, here, WH, F)
            G = F[0].T @ here[0]  # (8)
            for c in range(1, len(F)):
                G += F[c].T @ here[c]
            return loss, G

        loss, G = engine.sums(one)
        G /= engine.dtype.type(len(X))
        self.trial = T
        return Evaluation(loss, G)

    def loss(self) -> float:
        engine = self.engine

        def one(block: slice) -> tuple[float]:
            X = engine.X[:, block]
            WH = self.model(block, engine.scratch("WH", *X.shape[1:]))
            F = engine.scratch("F", *X.shape)
            return (self._loss_and_slope(block, X, WH, F),)

        return float(engine.sums(one)[0])

    def _loss_and_slope(self, block: slice, X: Array, WH: Array, F: Array) -> float:
        engine = self.engine
        return float(
            engine.kernels.loss_and_slope(
                X, WH, engine.weights[block], engine.equal, self.eps, engine.kappa, F
            )
        )

    def move(self, T: Array) -> None:
        if T is not self.trial:
            self.engine.rotate_into_spare(T, self.engine.X)
        self.engine.swap()
        self.trial = None

    def bound(self) -> Array:
        return self._curvature(exact=False)

    def curvature(self) -> Array:
        return self._curvature(exact=True)

    def _curvature(self, exact: bool) -> Array:
        engine = self.engine

        def one(block: slice) -> tuple[Array]:
            X = engine.X[:, block]
            WH, B, V = (engine.scratch(name, *X.shape[1:]) for name in ("WH", "F", "V"))
            WH = self.model(block, WH)
            weights = engine.weights[block]
            engine.kernels.curvatures(X, WH, weights, self.eps, engine.kappa, exact, B, V)
            return (B.T @ V,)  # (12)

        return np.asarray(engine.sums(one)[0])

    def pair_losses(self, p: Indices, q: Indices, angles: Array) -> Array:
        engine = self.engine
        self.evaluations += angles.shape[1]
        value, eps = engine.divergence.value, self.eps
        c, s = np.cos(angles).astype(engine.dtype), np.sin(angles).astype(engine.dtype)

        def one(block: slice) -> tuple[Array]:
            X = engine.X[:, block]
            v_hat = self.model(block, engine.scratch("WH", *X.shape[1:])) + eps
            Xp, Xq = X[..., p], X[..., q]
            losses = np.empty(angles.shape)
            for t in range(angles.shape[1]):
                turned_p = np.square(c[:, t] * Xp + s[:, t] * Xq).mean(axis=0)
                turned_q = np.square(c[:, t] * Xq - s[:, t] * Xp).mean(axis=0)
                entries = value(turned_p, v_hat[:, p], eps) + value(turned_q, v_hat[:, q], eps)
                losses[:, t] = engine.weights[block] @ entries
            return (losses,)

        return np.asarray(engine.sums(one)[0])
