"""One array holds all frames: the readable engine that the others are tested against."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from phinmf._types import Array, Indices
from phinmf.algebra import Algebra
from phinmf.divergences import Divergence
from phinmf.engines.base import CHECK_EVERY, DictionarySums, Engine, Evaluation, Objective
from phinmf.multiplicative import multiply


def power(X: Array) -> Array:
    """v_mn = mean_c x²_cmn."""
    return np.asarray(np.square(X).mean(axis=0))


class ArrayEngine(Engine):
    """Plain NumPy on arrays of shape (C, M, N)."""

    def __init__(
        self,
        Y: Array,
        divergence: Divergence,
        n_threads: int | None = None,
        weights: Array | None = None,
    ) -> None:
        self.Y = Y
        self.X = Y
        self.H: Array = np.zeros((0, Y.shape[2]), dtype=Y.dtype)
        self.divergence = divergence
        self.shape = Y.shape
        self.dtype = Y.dtype
        self.weights = np.ones(Y.shape[2]) if weights is None else weights
        self.w = self.weights.astype(Y.dtype)
        self.algebra = Algebra()

    def subset(self, frames: Indices | slice, dtype: DTypeLike, weights: Array) -> ArrayEngine:
        return ArrayEngine(self.Y[:, :, frames].astype(dtype), self.divergence, None, weights)

    def rest(self) -> None:
        self.X = self.Y

    def rotate(self, Phi: Array) -> None:
        self.X = Phi @ self.Y

    def powers(self) -> Array:
        return power(self.Y).mean(axis=0)

    def energies(self) -> Array:
        return power(self.X) @ self.weights

    def activations(self) -> Array:
        return self.H.copy()

    def set_activations(self, H: Array) -> None:
        self.H = H.astype(self.Y.dtype)

    def scale_activations(self, s: Array) -> None:
        self.H *= s[:, None]

    def activation_sums(self) -> Array:
        return self.H @ self.weights

    def nmf_pass(self, W: Array, mu: float, eps: float, gamma: float) -> DictionarySums:
        V = power(self.X)
        if gamma > 0:
            self.H = self._updated(V, W, self.H, mu, eps, gamma)
        P, Q = self.divergence.nmf_split(V, W @ self.H + eps, eps)
        weighted = self.H * self.w
        return DictionarySums(P @ weighted.T, Q @ weighted.T, weighted.sum(axis=1))

    def settle_activations(self, W: Array, mu: float, eps: float, tol: float, most: int) -> None:
        V = power(self.X)
        before = np.full(self.shape[2], np.inf)
        active = np.arange(self.shape[2])
        for n in range(0, most + 1, CHECK_EVERY):
            v, H = V[:, active], self.H[:, active]
            fit = self.divergence.value(v, W @ H + eps, eps).sum(axis=0, dtype=np.float64)
            cost = fit + mu * H.sum(axis=0, dtype=np.float64)
            moving = before[active] - cost > tol * len(V)
            before[active] = cost
            active = active[moving]
            if n == most or not len(active):
                break
            v, H = v[:, moving], H[:, moving]
            for _ in range(CHECK_EVERY):
                H = self._updated(v, W, H, mu, eps, 1.0)
            self.H[:, active] = H

    def _updated(self, V: Array, W: Array, H: Array, mu: float, eps: float, gamma: float) -> Array:
        P, Q = self.divergence.nmf_split(V, W @ H + eps, eps)
        return multiply(H, W.T @ P, W.T @ Q + mu, gamma)

    def objective(self, W: Array, eps: float) -> Objective:
        return ArrayObjective(self, W @ self.H + eps, eps)

    def objective_of(self, V_hat: Array, eps: float) -> Objective:
        return ArrayObjective(self, V_hat + eps, eps)


class ArrayObjective(Objective):
    """L(TΦ) with the whole of v̂ in memory."""

    def __init__(self, engine: ArrayEngine, v_hat: Array, eps: float) -> None:
        self.engine = engine
        self.v_hat = v_hat
        self.eps = eps
        self.algebra = engine.algebra
        self.trial: tuple[Array, Array] | None = None  # the last T and its TX
        self.divergence = engine.divergence
        self.w = engine.w

    def at(self, T: Array | None = None) -> Evaluation:
        self.evaluations += 1
        X = self.engine.X
        if T is not None:
            X = T @ X
            self.trial = T, X
        V = power(X)
        loss = self._loss(V)
        f_prime = self.divergence.slope(V, self.v_hat, self.eps) * self.w * X
        G = (f_prime @ X.transpose(0, 2, 1)).mean(axis=0)  # (8)
        return Evaluation(loss, G)

    def loss(self) -> float:
        return self._loss(power(self.engine.X))

    def _loss(self, V: Array) -> float:
        values = self.divergence.value(V, self.v_hat, self.eps)
        return float(values.sum(axis=0, dtype=np.float64) @ self.engine.weights)

    def move(self, T: Array) -> None:
        last = self.trial
        self.engine.X = last[1] if last and last[0] is T else T @ self.engine.X
        self.trial = None

    def bound(self) -> Array:
        V = power(self.engine.X)
        return (self.divergence.bound(V, self.v_hat, self.eps) * self.w) @ V.T  # (12)

    def curvature(self) -> Array:
        V = power(self.engine.X)
        return (self.divergence.curvature(V, self.v_hat, self.eps) * self.w) @ V.T

    def pair_losses(self, p: Indices, q: Indices, angles: Array) -> Array:
        X, v_hat = self.engine.X, self.v_hat
        losses = np.empty(angles.shape)
        for t in range(angles.shape[1]):
            self.evaluations += 1
            c = np.cos(angles[:, t, None]).astype(X.dtype)
            s = np.sin(angles[:, t, None]).astype(X.dtype)
            losses[:, t] = self._row_losses(c * X[:, p] + s * X[:, q], v_hat[p])
            losses[:, t] += self._row_losses(c * X[:, q] - s * X[:, p], v_hat[q])
        return losses

    def _row_losses(self, X: Array, v_hat: Array) -> NDArray[Any]:
        values = self.divergence.value(power(X), v_hat, self.eps)
        return values @ self.engine.weights
