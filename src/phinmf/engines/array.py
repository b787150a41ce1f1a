"""One array holds all frames: the readable engine that the others are tested against.

The array is one of NumPy or a tensor of PyTorch. Everything stays on its device, also what is
computed from it; only losses are moved to the host. The sums over frames are in `sums.py`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import Array, Indices, Mask
from phinmf.arrays import (
    cast,
    copied,
    like,
    namespace,
    take_frames,
    to_numpy,
    zeros,
)
from phinmf.divergences import Divergence
from phinmf.divergences.penalty import Penalty, difference, pull
from phinmf.engines import sums
from phinmf.engines.base import (
    Activations,
    DictionarySums,
    Engine,
    Evaluation,
    Objective,
    as_array,
    links_among,
)
from phinmf.engines.sums import CHECK_EVERY, power
from phinmf.linalg.algebra import algebra_of


class ArrayEngine(Engine):
    """Formulas of the array API on whole arrays of shape (C, M, N)."""

    tensors = True
    pair_losses = True

    def __init__(
        self,
        Y: Array,
        divergence: Divergence,
        n_threads: int | None = None,
        weights: Array | None = None,
        links: Mask | None = None,
    ) -> None:
        super().__init__(Y, divergence, n_threads, weights, links)
        self.xp = namespace(Y)
        self.Y = Y
        self.X = Y
        self.H: Array = zeros((0, Y.shape[2]), Y)
        #: the weights, on the device of the frames; in memory of PyTorch, because the bits of its
        #: products depend on where an array begins relative to a cache line
        self.w64 = copied(like(self.weights, Y))
        self.w = None if (self.weights == 1).all() else self.w64  #: None if all are 1
        self.algebra = algebra_of(Y)

    def subset(
        self, frames: Indices | slice, dtype: DTypeLike, weights: Array, atoms: Array | None = None
    ) -> ArrayEngine:
        Y = copied(take_frames(self.Y, frames), dtype)
        if atoms is not None:
            Y = like(atoms, Y, dtype) @ Y
        return ArrayEngine(Y, self.divergence, None, weights, links_among(frames, self.links))

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

    def set_activations(self, H: Activations) -> None:
        self.H = copied(as_array(H), self.dtype)

    def scale_activations(self, s: Array) -> None:
        self.H *= s[:, None]

    def activation_sums(self) -> Array:
        return cast(self.H, np.float64) @ self.w64

    def nmf_pass(self, W: Array, penalty: Penalty, eps: float, gamma: float) -> DictionarySums:
        V = power(self.X, len(W))
        if gamma > 0 and penalty.smoothness:
            for first in (0, 1):
                self.update_every_other(first, V, W, penalty, eps, gamma)
        elif gamma > 0:
            self.H = sums.updated_activations(
                self.divergence, V, W, self.H, penalty.sparsity, eps, gamma
            )
        return sums.dictionary_sums(self.divergence, V, W, self.H, eps, self.w)

    def update_every_other(
        self, first: int, V: Array, W: Array, penalty: Penalty, eps: float, gamma: float
    ) -> None:
        """Update the activations of every other frame, which depend on those between them."""
        before, after = self.neighbours()
        weights = np.where(self.weights > 0, self.weights, np.inf)
        strength = like(penalty.smoothness / weights, self.H, self.dtype)
        some = slice(first, None, 2)
        H = self.H[:, some]
        pulled = pull(H, before[:, some], after[:, some], strength[some])
        self.H[:, some] = sums.updated_activations(
            self.divergence, V[:, some], W, H, penalty.sparsity, eps, gamma, pulled
        )

    def neighbours(self) -> tuple[Array, Array]:
        """Return (K, N) the activations before and after each frame; its own if there are none."""
        before, after, H = copied(self.H), copied(self.H), self.H
        linked = like(self.links, H, bool)
        before[:, 1:] = self.xp.where(linked[1:], H[:, :-1], H[:, 1:])
        after[:, :-1] = self.xp.where(linked[1:], H[:, 1:], H[:, :-1])
        return before, after

    def roughness(self) -> float:
        H = cast(self.H, np.float64)
        linked = like(self.links[1:], H, bool)
        return float(self.xp.sum(difference(H[:, 1:], H[:, :-1], linked)))

    def converge_activations(
        self, W: Array, penalty: Penalty, eps: float, tol: float, max_updates: int
    ) -> None:
        d, rate = self.divergence, penalty.sparsity
        V, W, H = (cast(A, np.float64) for A in (power(self.X, len(W)), W, self.H))
        result, active = copied(H), self.xp.arange(H.shape[1], device=H.device)
        before = sums.relative_costs(d, V, W, H, rate, eps)
        for made in range(0, max_updates, CHECK_EVERY):
            for _ in range(min(CHECK_EVERY, max_updates - made)):
                H = sums.updated_activations(d, V, W, H, rate, eps, d.max_exponent)
            result[:, active] = H
            now = sums.relative_costs(d, V, W, H, rate, eps)
            moving = before - now > tol * len(V)
            before, active = now[moving], active[moving]
            if not len(active):
                break
            if len(active) < H.shape[1]:  # frames that have converged are left out
                V, H = V[:, moving], H[:, moving]
        self.H = cast(result, self.dtype)

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
        self.atoms_per_power = engine.shape[1] // len(v_hat)
        self.algebra = engine.algebra
        self.trial: tuple[Array, Array] | None = None  # the last T and its TX
        self.divergence = engine.divergence

    def evaluate(self, T: Array | None = None) -> Evaluation:
        self.evaluations += 1
        X = self.engine.X
        if T is not None:
            X = T @ X
            self.trial = T, X
        V = self._power(X)
        loss = self._loss(V)
        f_prime = sums.slopes(self.divergence, X, V, self.v_hat, self.eps, self.engine.w)
        G = sums.gradient(f_prime, X)
        return Evaluation(float(loss), G)  # float() waits for the device, so it comes last

    def loss(self) -> float:
        return float(self._loss(self._power(self.engine.X)))

    def _power(self, X: Array) -> Array:
        return power(X, len(self.v_hat))

    def _loss(self, V: Array) -> Array:
        loss = sums.loss(self.divergence, V, self.v_hat, self.eps, self.engine.w64)
        return self.atoms_per_power * loss

    def move(self, T: Array) -> None:
        last = self.trial
        self.engine.X = last[1] if last and last[0] is T else T @ self.engine.X
        self.trial = None

    def bound(self) -> Array:
        X = self.engine.X
        bound = self.divergence.bound(self._power(X), self.v_hat, self.eps)
        return sums.curvature(bound, power(X), self.engine.w)

    def curvature(self) -> Array:
        X, V = self.engine.X, self._power(self.engine.X)
        second = sums.second_derivative(self.divergence, V, self.v_hat, self.eps, X.shape[1])
        return sums.curvature(second, power(X), self.engine.w)

    def pair_losses(self, p: Indices, q: Indices, angles: Array) -> Array:
        self.evaluations += angles.shape[1]
        X, weights = self.engine.X, self.engine.w64
        losses = sums.pair_losses(self.divergence, X, self.v_hat, self.eps, weights, p, q, angles)
        return np.asarray(to_numpy(losses))
