"""A shard in the memory of this process: products by BLAS, elementwise passes by Numba.

Frames are contiguous in memory, X[c, n] being one transformed frame, so a block is a slice. A
thread does everything to a block while it is in its cache, with BLAS on one thread.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from phinmf._types import Array, Precision
from phinmf.arrays import copied, levels, room_for_frames
from phinmf.arrays.threads import Workers, no_fork
from phinmf.divergences import compiled_family
from phinmf.divergences.base import LEAST
from phinmf.engines.compiled.summation import Node, Tree, blocks_of
from phinmf.engines.remote.old_scratch import Scratch
from phinmf.engines.remote.old_shard import Nodes
from phinmf.engines.remote.old_stretch import Stretch
from phinmf.engines.remote.old_two_points import TwoPoints
from phinmf.engines.sums import CHECK_EVERY


class CompiledShard(TwoPoints):
    """Frames, activations and a trial point as arrays of NumPy."""

    def __init__(
        self, Y: Array, stretch: Stretch, workers: Workers, scratch: Scratch | None = None
    ) -> None:
        self.dtype: Precision = Y.dtype
        self.divergence = stretch.divergence
        family = compiled_family(stretch.divergence)
        assert family is not None
        self.family = int(family)
        self.weights = stretch.weights
        self.equal = stretch.equal
        self.frames = stretch.frames
        self.n_blocks = len(blocks_of(stretch.N))  #: of all shards
        self.first, self.blocks = stretch.blocks.start, stretch.own_blocks
        self.workers = workers
        self.scratch = scratch or Scratch(self.dtype)
        with no_fork:
            # imported late: importing Numba is slow
            self.kernels = importlib.import_module("phinmf.engines.compiled.kernels")
            self.updates = importlib.import_module("phinmf.engines.compiled.nmf_kernels")
        self.H = self.kept = np.zeros((len(stretch.weights), 0), self.dtype)
        self.V_hat = None
        self.hold(Y)

    # the transform

    def room(self) -> Array:
        return room_for_frames(self.X.shape, self.dtype)

    def multiply(self, T: Array, source: Array, target: Array) -> None:
        Tt = T.T.astype(self.dtype, copy=False)

        def one(block: slice) -> None:
            np.matmul(source[:, block], Tt, out=target[:, block])

        self.workers.each(one, self.blocks)

    # values for each frame

    def powers(self) -> Array:
        C, _, M = self.Y.shape
        energies = levels.energies(self.Y.transpose(0, 2, 1))
        return (energies / (C * M)).astype(self.dtype)

    def activations(self) -> Array:
        return self.H.copy()

    def set_activations(self, H: Array) -> None:
        self.H = H.astype(self.dtype, order="C")

    def keep_activations(self) -> None:
        self.kept = copied(self.H)

    def restore_activations(self) -> None:
        self.H = copied(self.kept)

    def kept_activations(self) -> Array:
        return copied(self.kept)

    def scale_activations(self, s: Array) -> None:
        self.H *= s

    def set_model(self, V_hat: Array) -> None:
        self.V_hat = V_hat

    def converge_activations(
        self, W: Array, mu: float, eps: float, tol: float, max_updates: int
    ) -> None:
        Wt = np.zeros((W.shape[1] + W.shape[1] % 2, len(W)))
        Wt[: W.shape[1]] = W.T
        numbers = float(mu), float(eps), LEAST, float(tol), CHECK_EVERY, max_updates
        degree = float(self.divergence.degree)
        converge = self.updates.converge_block_for(self.family)

        def one(block: slice) -> None:
            converge(self.X[:, block], self.H[block], Wt, *numbers, degree)

        self.workers.each(one, self.blocks)

    # sums over frames

    def sums_over_blocks(self, one: Callable[[slice], Sequence[Any]]) -> Nodes:
        """Add up what `one` returns for each block, as far as the tree allows."""
        tree, count = Tree(self.n_blocks), self.first

        def add(sums: Sequence[Any]) -> None:
            nonlocal count
            tree.add(Node(count, count + 1, list(sums)))
            count += 1

        self.workers.in_order(one, self.blocks, add)
        return tree.nodes

    def energies(self) -> Nodes:
        def one(block: slice) -> tuple[Array]:
            X, weights = self.X[:, block], self.weights[block]
            return (np.einsum("n,cnm,cnm->m", weights, X, X, dtype=np.float64),)

        return self.sums_over_blocks(one)

    def activation_sums(self) -> Nodes:
        return self.sums_over_blocks(lambda block: (self.weights[block] @ self.H[block],))

    def nmf_pass(self, W: Array, rates: Array, eps: float, gamma: float) -> Nodes:
        W, Wt, rates = np.ascontiguousarray(W), np.ascontiguousarray(W.T), rates.astype(self.dtype)
        numbers = [self.dtype.type(x) for x in (eps, gamma, LEAST)]
        update = self.updates.nmf_block_for(self.family)

        def one(block: slice) -> tuple[Array, Array, Array]:
            X, H = self.X[:, block], self.H[block]
            PH, QH, H1 = np.zeros_like(Wt), np.zeros_like(Wt), np.zeros_like(Wt[:, 0])
            update(X, self.weights[block], H, W, Wt, rates, *numbers, PH, QH, H1)
            return PH, QH, H1

        return self.sums_over_blocks(one)

    def at(self, W: Array | None, eps: float, T: Array | None) -> Nodes:
        model, small = self._model(W), self.dtype.type(eps)
        X = self.X if T is None else self.room_for_trial()
        Tt = None if T is None else T.T.astype(self.dtype, copy=False)

        def one(block: slice) -> tuple[float, Array]:
            here = X[:, block]
            if Tt is not None:
                np.matmul(self.X[:, block], Tt, out=here)
            F = self.scratch.array("F", *here.shape)
            loss = self._loss_and_slope(block, here, model(block), small, F)
            G = F[0].T @ here[0]  # (8)
            for c in range(1, len(F)):
                G += F[c].T @ here[c]
            return loss, G

        return self.sums_over_blocks(one)

    def loss(self, W: Array | None, eps: float) -> Nodes:
        model, small = self._model(W), self.dtype.type(eps)

        def one(block: slice) -> tuple[float]:
            X = self.X[:, block]
            F = self.scratch.array("F", *X.shape)
            return (self._loss_and_slope(block, X, model(block), small, F),)

        return self.sums_over_blocks(one)

    def _loss_and_slope(self, block: slice, X: Array, WH: Array, eps: Any, F: Array) -> float:
        kernel = self.kernels.loss_and_slope_for(self.family)
        return float(kernel(X, WH, self.weights[block], self.equal, eps, F))

    def curvature(self, W: Array | None, eps: float, exact: bool) -> Nodes:
        model, small = self._model(W), self.dtype.type(eps)
        kernel = self.kernels.curvatures_for(self.family)

        def one(block: slice) -> list[Array]:
            X, v_hat = self.X[:, block], model(block)
            found: list[Array] = []
            B, V = (self.scratch.array(name, *X.shape[1:]) for name in ("F", "V"))
            for kind in (True, False) if exact else (False,):
                kernel(X, v_hat, self.weights[block], small, kind, B, V)
                found.append(B.T @ V)  # (9), (12)
            return found

        return self.sums_over_blocks(one)

    def _model(self, W: Array | None) -> Callable[[slice], Array]:
        """Return a function that models the power of a block: by WH, or by V̂ without W."""
        if W is None:
            given = self.V_hat
            assert given is not None
            return lambda block: given[block]
        Wt = np.ascontiguousarray(W.T)

        def product(block: slice) -> Array:
            H = self.H[block]
            return np.matmul(H, Wt, out=self.scratch.array("WH", len(H), Wt.shape[1]))

        return product
