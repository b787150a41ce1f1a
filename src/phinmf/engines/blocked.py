"""Frames in blocks that worker threads take in turn: the fast engine of the CPU.

Frames are contiguous in memory, X[c, n] being one transformed frame, so a block is a slice. A
worker does everything to a block while it is in its cache, with BLAS on one thread. Sums run
over the same blocks in the same order whatever the number of threads, so the bits agree. Three
arrays as large as the frames are held: Y, X and the trial point.
"""

from __future__ import annotations

import importlib
import itertools
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import Array, Indices
from phinmf.algebra import Algebra
from phinmf.divergences import Divergence
from phinmf.engines.base import CHECK_EVERY, DictionarySums, Engine, Objective
from phinmf.engines.blocked_objective import BlockedObjective
from phinmf.multiplicative import LEAST
from phinmf.threads import Workers

MOST_FRAMES = 1024  #: of a block
FEW_FRAMES = 256  #: a block is not split further for the sake of more threads


def blocks_of(N: int) -> list[slice]:
    """Blocks of nearly equal length; they depend on nothing but the number of frames."""
    number = 1
    while number < 8 and N // (2 * number) >= FEW_FRAMES:
        number *= 2
    number = max(number, -(-N // MOST_FRAMES))
    edges = [N * i // number for i in range(number + 1)]
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


class BlockedEngine(Engine):
    """NumPy products and compiled elementwise passes on blocks of frames."""

    def __init__(
        self,
        Y: Array,
        divergence: Divergence,
        n_threads: int | None = None,
        weights: Array | None = None,
        workers: Workers | None = None,
    ) -> None:
        self.shape = Y.shape
        self.Y = np.ascontiguousarray(Y.transpose(0, 2, 1))
        self.dtype = self.Y.dtype
        self.weights = np.ones(Y.shape[2]) if weights is None else weights
        self.equal = bool((self.weights == self.weights[0]).all())
        self.H: Array = np.zeros((Y.shape[2], 0), self.dtype)  # transposed: (N, K)
        self.divergence = divergence
        self.kernels = importlib.import_module("phinmf.engines.kernels")  # Numba takes its time
        self.kappa = self.dtype.type(divergence.log_share)  # type: ignore[attr-defined]
        self.workers = workers or Workers(n_threads)
        self.algebra = Algebra(self.workers)
        self.blocks = blocks_of(Y.shape[2])
        self.X = self.Y
        self._spare: Array | None = None
        self._scratch = threading.local()

    @classmethod
    def supports(cls, divergence: Divergence) -> bool:
        return hasattr(divergence, "log_share")

    def __enter__(self) -> BlockedEngine:
        self.workers.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.workers.__exit__()

    def subset(self, frames: Indices | slice, dtype: DTypeLike, weights: Array) -> BlockedEngine:
        Y = self.Y[:, frames].astype(dtype).transpose(0, 2, 1)
        return BlockedEngine(Y, self.divergence, None, weights, self.workers)

    def rest(self) -> None:
        self.X, self._spare = self.Y, None

    def rotate(self, Phi: Array) -> None:
        self.rotate_into_spare(Phi, self.Y)
        self.swap()

    def powers(self) -> Array:
        C, M, _ = self.shape
        return np.einsum("cnm,cnm->n", self.Y, self.Y) / self.dtype.type(C * M)

    def energies(self) -> Array:
        energies = np.einsum("n,cnm,cnm->m", self.weights, self.X, self.X, dtype=np.float64)
        return energies / len(self.X)

    def activations(self) -> Array:
        return self.H.T.copy()

    def set_activations(self, H: Array) -> None:
        self.H = H.T.astype(self.dtype, order="C")

    def scale_activations(self, s: Array) -> None:
        self.H *= s

    def activation_sums(self) -> Array:
        return self.weights @ self.H

    def nmf_pass(self, W: Array, mu: float, eps: float, gamma: float) -> DictionarySums:
        W, Wt = np.ascontiguousarray(W), np.ascontiguousarray(W.T)
        eps, mu, exponent, least = (self.dtype.type(x) for x in (eps, mu, gamma, LEAST))

        def one(block: slice) -> tuple[Array, Array, Array]:
            X, H = self.X[:, block], self.H[block]
            PH, QH, H1 = np.zeros_like(Wt), np.zeros_like(Wt), np.zeros_like(Wt[:, 0])
            weights = self.weights[block]
            self.kernels.nmf_block(X, weights, H, W, Wt, mu, eps, exponent, least, PH, QH, H1)
            return PH, QH, H1

        numerator, denominator, activation = self.sums(one)
        return DictionarySums(numerator.T, denominator.T, activation)

    def settle_activations(self, W: Array, mu: float, eps: float, tol: float, most: int) -> None:
        Wt = np.zeros((W.shape[1] + W.shape[1] % 2, len(W)))
        Wt[: W.shape[1]] = W.T
        settle = self.kernels.settle_block

        def one(block: slice) -> None:
            X, H = self.X[:, block], self.H[block]
            settle(X, H, Wt, float(mu), float(eps), LEAST, float(tol), CHECK_EVERY, most)

        self.workers.each(one, self.blocks)

    def objective(self, W: Array, eps: float) -> Objective:
        Wt, H = np.ascontiguousarray(W.T), self.H

        def model(block: slice, out: Array) -> Array:
            return np.matmul(H[block], Wt, out=out)

        return BlockedObjective(self, model, eps)

    def objective_of(self, V_hat: Array, eps: float) -> Objective:
        Vt = V_hat.T
        return BlockedObjective(self, lambda block, out: np.asarray(Vt[block]), eps)

    # what the objective builds on

    def scratch(self, name: str, *shape: int) -> Array:
        """An array of this thread's own, for a moment; the memory is used again and again."""
        memory, size = self._scratch.__dict__, math.prod(shape)
        if name not in memory or memory[name].size < size:
            memory[name] = np.empty(size, self.dtype)
        return np.asarray(memory[name][:size].reshape(shape))

    def sums(self, one: Callable[[slice], Sequence[Any]]) -> list[Any]:
        """Add up, in the order of the blocks, what `one` returns for each."""
        totals: list[Any] = []

        def add(parts: Sequence[Any]) -> None:
            if not totals:
                totals.extend(parts)
                return
            for i, part in enumerate(parts):
                totals[i] += part

        self.workers.in_order(one, self.blocks, add)
        return totals

    def rotate_into_spare(self, T: Array, source: Array) -> None:
        """Spare ← T applied to every frame of the source."""
        Tt, spare = T.T.astype(self.dtype, copy=False), self.spare

        def one(block: slice) -> None:
            np.matmul(source[:, block], Tt, out=spare[:, block])

        self.workers.each(one, self.blocks)

    @property
    def spare(self) -> Array:
        """Room for a trial point."""
        if self._spare is None:
            self._spare = np.empty_like(self.Y)
        return self._spare

    def swap(self) -> None:
        """Make the spare array X, and the old X spare (Y itself is never written to)."""
        self.X, self._spare = self.spare, None if self.X is self.Y else self.X
