"""A run of blocks of frames, and everything that is done to a block: all that computes on the CPU.

Frames are contiguous in memory, X[c, n] being one transformed frame, so a block is a slice. A
worker does everything to a block while it is in its cache, with BLAS on one thread. What is
summed over frames is handed out as nodes of the tree over all blocks, of which these may be a
few: engines put them together.
"""

from __future__ import annotations

import importlib
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from phinmf._types import Array, Indices
from phinmf.arrays import levels, room_for_frames
from phinmf.arrays.threads import Workers, no_fork
from phinmf.engines.base import CHECK_EVERY
from phinmf.engines.blocked.share import Share
from phinmf.engines.blocked.summation import Node, Tree, blocks_of
from phinmf.linalg.multiplicative import LEAST

Nodes = list[Node]


class Run:
    """Y, X = ΦY, room for a trial point, and the activations H of some blocks."""

    def __init__(self, Y: Array, share: Share, workers: Workers) -> None:
        self.Y = Y  #: (C, n, M), never written to
        self.X = Y
        self.H: Array = np.zeros((Y.shape[1], 0), Y.dtype)  #: transposed: (n, K)
        self.V_hat: Array | None = None  #: a given model of the power, transposed: (n, M)
        self.prepare(Y.dtype, share, workers)

    def prepare(self, dtype: np.dtype[Any], share: Share, workers: Workers) -> None:
        """Everything but the frames."""
        self.dtype = dtype
        self.divergence = share.divergence
        self.weights = share.weights
        self.equal = share.equal
        blocks = blocks_of(share.N)
        self.n_blocks = len(blocks)
        self.first, start = share.blocks.start, share.frames.start
        self.blocks = [slice(b.start - start, b.stop - start) for b in blocks[share.blocks]]
        self.workers = workers
        with no_fork:
            # imported late, as Numba takes its time
            self.kernels = importlib.import_module("phinmf.engines.blocked.kernels")
        self.kappa = dtype.type(share.divergence.log_share)  # type: ignore[attr-defined]
        self._spare: Array | None = None
        self._scratch = threading.local()

    # where the frames are

    def rest(self) -> None:
        self.X, self._spare = self.Y, None

    def rotate(self, Phi: Array) -> None:
        self.rotate_into_spare(Phi, self.Y)
        self.swap()

    def move(self, T: Array | None) -> None:
        """X ← TX; None is the last trial."""
        if T is not None:
            self.rotate_into_spare(T, self.X)
        self.swap()

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
            self._spare = room_for_frames(self.X.shape, self.dtype)
        return self._spare

    def swap(self) -> None:
        """Make the spare array X, and the old X spare (Y itself is never written to)."""
        self.X, self._spare = self.spare, None if self.X is self.Y else self.X

    # a number for each frame

    def powers(self) -> Array:
        C, _, M = self.Y.shape
        energies = levels.energies(self.Y.transpose(0, 2, 1))
        return (energies / (C * M)).astype(self.dtype)

    def activations(self) -> Array:
        return self.H.copy()

    def set_activations(self, H: Array) -> None:
        self.H = H.astype(self.dtype, order="C")

    def scale_activations(self, s: Array) -> None:
        self.H *= s

    def set_model(self, V_hat: Array) -> None:
        self.V_hat = V_hat

    def converge_activations(self, W: Array, mu: float, eps: float, tol: float, most: int) -> None:
        Wt = np.zeros((W.shape[1] + W.shape[1] % 2, len(W)))
        Wt[: W.shape[1]] = W.T
        settle = self.kernels.converge_block

        def one(block: slice) -> None:
            X, H = self.X[:, block], self.H[block]
            settle(X, H, Wt, float(mu), float(eps), LEAST, float(tol), CHECK_EVERY, most)

        self.workers.each(one, self.blocks)

    # sums over frames

    def sums(self, one: Callable[[slice], Sequence[Any]]) -> Nodes:
        """Add up what `one` returns for each block, as far as the tree allows."""
        tree, count = Tree(self.n_blocks), self.first

        def add(parts: Sequence[Any]) -> None:
            nonlocal count
            tree.add(Node(count, count + 1, list(parts)))
            count += 1

        self.workers.in_order(one, self.blocks, add)
        return tree.nodes

    def energies(self) -> Nodes:
        def one(block: slice) -> tuple[Array]:
            X, weights = self.X[:, block], self.weights[block]
            return (np.einsum("n,cnm,cnm->m", weights, X, X, dtype=np.float64),)

        return self.sums(one)

    def activation_sums(self) -> Nodes:
        return self.sums(lambda block: (self.weights[block] @ self.H[block],))

    def nmf_pass(self, W: Array, mu: float, eps: float, gamma: float) -> Nodes:
        W, Wt = np.ascontiguousarray(W), np.ascontiguousarray(W.T)
        eps, mu, exponent, least = (self.dtype.type(x) for x in (eps, mu, gamma, LEAST))

        def one(block: slice) -> tuple[Array, Array, Array]:
            X, H = self.X[:, block], self.H[block]
            PH, QH, H1 = np.zeros_like(Wt), np.zeros_like(Wt), np.zeros_like(Wt[:, 0])
            weights = self.weights[block]
            self.kernels.nmf_block(X, weights, H, W, Wt, mu, eps, exponent, least, PH, QH, H1)
            return PH, QH, H1

        return self.sums(one)

    def at(self, W: Array | None, eps: float, T: Array | None) -> Nodes:
        """Loss and C times the gradient at TX, which stays in the spare array."""
        model, small = self.model(W), self.dtype.type(eps)
        X = self.X if T is None else self.spare
        Tt = None if T is None else T.T.astype(self.dtype, copy=False)

        def one(block: slice) -> tuple[float, Array]:
            here = X[:, block]
            if Tt is not None:
                np.matmul(self.X[:, block], Tt, out=here)
            F = self.scratch("F", *here.shape)
            loss = self._loss_and_slope(block, here, model(block), small, F)
            G = F[0].T @ here[0]  # (8)
            for c in range(1, len(F)):
                G += F[c].T @ here[c]
            return loss, G

        return self.sums(one)

    def loss(self, W: Array | None, eps: float) -> Nodes:
        model, small = self.model(W), self.dtype.type(eps)

        def one(block: slice) -> tuple[float]:
            X = self.X[:, block]
            F = self.scratch("F", *X.shape)
            return (self._loss_and_slope(block, X, model(block), small, F),)

        return self.sums(one)

    def _loss_and_slope(self, block: slice, X: Array, WH: Array, eps: Any, F: Array) -> float:
        weights = self.weights[block]
        return float(self.kernels.loss_and_slope(X, WH, weights, self.equal, eps, self.kappa, F))

    def curvature(self, W: Array | None, eps: float, exact: bool) -> Nodes:
        model, small = self.model(W), self.dtype.type(eps)

        def one(block: slice) -> tuple[Array]:
            X = self.X[:, block]
            B, V = (self.scratch(name, *X.shape[1:]) for name in ("F", "V"))
            weights, WH = self.weights[block], model(block)
            self.kernels.curvatures(X, WH, weights, small, self.kappa, exact, B, V)
            return (B.T @ V,)  # (12)

        return self.sums(one)

    def pair_losses(
        self, W: Array | None, eps: float, p: Indices, q: Indices, angles: Array
    ) -> Nodes:
        model, small = self.model(W), self.dtype.type(eps)
        value = self.divergence.value
        c, s = np.cos(angles).astype(self.dtype), np.sin(angles).astype(self.dtype)

        def one(block: slice) -> tuple[Array]:
            X = self.X[:, block]
            v_hat = model(block) + small
            Xp, Xq = X[..., p], X[..., q]
            losses = np.empty(angles.shape)
            for t in range(angles.shape[1]):
                turned_p = np.square(c[:, t] * Xp + s[:, t] * Xq).mean(axis=0)
                turned_q = np.square(c[:, t] * Xq - s[:, t] * Xp).mean(axis=0)
                entries = value(turned_p, v_hat[:, p], small)
                entries = entries + value(turned_q, v_hat[:, q], small)
                losses[:, t] = self.weights[block] @ entries
            return (losses,)

        return self.sums(one)

    def model(self, W: Array | None) -> Callable[[slice], Array]:
        """What models the power of a block: WH, or the given model if there is no W."""
        if W is None:
            given = self.V_hat
            assert given is not None
            return lambda block: given[block]
        Wt = np.ascontiguousarray(W.T)

        def product(block: slice) -> Array:
            H = self.H[block]
            return np.matmul(H, Wt, out=self.scratch("WH", len(H), Wt.shape[1]))

        return product

    def scratch(self, name: str, *shape: int) -> Array:
        """An array of this thread's own, for a moment; the memory is used again and again."""
        memory, size = self._scratch.__dict__, math.prod(shape)
        if name not in memory or memory[name].size < size:
            memory[name] = np.empty(size, self.dtype)
        return np.asarray(memory[name][:size].reshape(shape))
