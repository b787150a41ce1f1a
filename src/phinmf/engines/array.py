"""One array holds all frames: the readable engine that the others are tested against.

The array is one of NumPy or a tensor of PyTorch; whatever has an axis of frames stays on its
device, and so does everything that is computed from it, but for the losses.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import Array, Indices
from phinmf.arrays import (
    cast,
    copied,
    dtype_of,
    frames_of,
    indices,
    like,
    namespace,
    to_numpy,
    zeros,
)
from phinmf.divergences import Divergence
from phinmf.engines.base import CHECK_EVERY, DictionarySums, Engine, Evaluation, Objective
from phinmf.linalg.algebra import algebra_of
from phinmf.linalg.multiplicative import multiply


def mean_over_channels(A: Array) -> Array:
    """Mean over the first axis; of one channel, that channel."""
    return A[0] if len(A) == 1 else namespace(A).mean(A, axis=0)


def power(X: Array) -> Array:
    """v_mn = mean_c x²_cmn."""
    return mean_over_channels(X * X)


class ArrayEngine(Engine):
    """Plain formulas of the array API on arrays of shape (C, M, N)."""

    tensors = True

    def __init__(
        self,
        Y: Array,
        divergence: Divergence,
        n_threads: int | None = None,
        weights: Array | None = None,
    ) -> None:
        self.xp = namespace(Y)
        self.Y = Y
        self.X = Y
        self.H: Array = zeros((0, Y.shape[2]), Y)
        self.divergence = divergence
        self.shape = tuple(Y.shape)
        self.dtype = dtype_of(Y)
        self.weights = np.ones(Y.shape[2]) if weights is None else weights
        self.w64 = like(self.weights, Y)
        self.w: Array | None = None if (self.weights == 1).all() else cast(self.w64, self.dtype)
        self.algebra = algebra_of(Y)

    def subset(self, frames: Indices | slice, dtype: DTypeLike, weights: Array) -> ArrayEngine:
        return ArrayEngine(copied(frames_of(self.Y, frames), dtype), self.divergence, None, weights)

    def rest(self) -> None:
        self.X = self.Y

    def rotate(self, Phi: Array) -> None:
        self.X = Phi @ self.Y

    def powers(self) -> Array:
        return self.xp.mean(power(self.Y), axis=-2)

    def energies(self) -> Array:
        return cast(power(self.X), np.float64) @ self.w64

    def activations(self) -> Array:
        return copied(self.H)

    def set_activations(self, H: Array) -> None:
        self.H = copied(H, self.dtype)

    def scale_activations(self, s: Array) -> None:
        self.H *= s[:, None]

    def activation_sums(self) -> Array:
        return cast(self.H, np.float64) @ self.w64

    def weighted(self, entries: Array) -> Array:
        """What is to be summed over frames, each as often as it counts."""
        return entries if self.w is None else entries * self.w

    def nmf_pass(self, W: Array, mu: float, eps: float, gamma: float) -> DictionarySums:
        V = power(self.X)
        if gamma > 0:
            self.H = self._updated(V, W, self.H, mu, eps, gamma)
        P, Q = self.divergence.nmf_split(V, W @ self.H + eps, eps)
        H = self.weighted(self.H)
        return DictionarySums(P @ H.mT, Q @ H.mT, self.xp.sum(H, axis=-1))

    def converge_activations(self, W: Array, mu: float, eps: float, tol: float, most: int) -> None:
        xp, W = self.xp, cast(W, np.float64)
        V = cast(power(self.X), np.float64)
        settled = copied(self.H, np.float64)
        active = xp.arange(self.shape[2], device=self.Y.device)
        before = xp.full_like(self.w64, np.inf)
        v, H = V, settled
        for n in range(0, most + 1, CHECK_EVERY):
            fit = xp.sum(self.divergence.value(v, W @ H + eps, eps), axis=-2)
            cost = fit + mu * xp.sum(H, axis=-2)
            moving = before - cost > tol * len(V)
            before, active = cost[moving], active[moving]
            if n == most or not len(active):
                break
            v, H = v[:, moving], H[:, moving]
            for _ in range(CHECK_EVERY):
                H = self._updated(v, W, H, mu, eps, 1.0)
            settled[:, active] = H
        self.H = cast(settled, self.dtype)

    def _updated(self, V: Array, W: Array, H: Array, mu: float, eps: float, gamma: float) -> Array:
        P, Q = self.divergence.nmf_split(V, W @ H + eps, eps)
        return multiply(H, W.mT @ P, W.mT @ Q + mu, gamma)

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

    def at(self, T: Array | None = None) -> Evaluation:
        self.evaluations += 1
        X = self.engine.X
        if T is not None:
            X = T @ X
            self.trial = T, X
        V = power(X)
        loss = self._loss(V)
        f_prime = self.engine.weighted(self.divergence.slope(V, self.v_hat, self.eps)) * X
        G = mean_over_channels(f_prime @ X.mT)  # (8)
        return Evaluation(float(loss), G)  # the host waits for the loss when all is on its way

    def loss(self) -> float:
        return float(self._loss(power(self.engine.X)))

    def _loss(self, V: Array) -> Any:
        xp = self.engine.xp
        values = self.divergence.value(V, self.v_hat, self.eps)
        return xp.sum(values, axis=-2, dtype=xp.float64) @ self.engine.w64

    def move(self, T: Array) -> None:
        last = self.trial
        self.engine.X = last[1] if last and last[0] is T else T @ self.engine.X
        self.trial = None

    def bound(self) -> Array:
        return self._curvature(self.divergence.bound)  # (12)

    def curvature(self) -> Array:
        return self._curvature(self.divergence.curvature)

    def _curvature(self, entries: Any) -> Array:
        V = power(self.engine.X)
        return self.engine.weighted(entries(V, self.v_hat, self.eps)) @ V.mT

    def pair_losses(self, p: Indices, q: Indices, angles: Array) -> Array:
        X = self.engine.X
        c, s = (like(f(angles), X, dtype_of(X)) for f in (np.cos, np.sin))
        p, q = (indices(i, X) for i in (p, q))
        Xp, Xq, v_hat_p, v_hat_q = X[:, p], X[:, q], self.v_hat[p], self.v_hat[q]
        losses = zeros(angles.shape, X, np.float64)
        for t in range(angles.shape[1]):
            self.evaluations += 1
            losses[:, t] = self._row_losses(c[:, t, None] * Xp + s[:, t, None] * Xq, v_hat_p)
            losses[:, t] += self._row_losses(c[:, t, None] * Xq - s[:, t, None] * Xp, v_hat_q)
        return np.asarray(to_numpy(losses))

    def _row_losses(self, X: Array, v_hat: Array) -> Array:
        values = self.divergence.value(power(X), v_hat, self.eps)
        return cast(values, np.float64) @ self.engine.w64
