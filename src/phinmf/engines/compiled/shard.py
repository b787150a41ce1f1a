"""A shard: consecutive blocks of frames, and everything that is computed from them.

Invariants:

* A method is a pure function of its arguments, except that it may write to an array named `out`.
  So a shard computes anywhere, in any order and a second time with the same bits.
* One thread does everything to a block while it is in its cache, with BLAS on one thread. So the
  number of threads changes no bits.
* Sums over frames are returned as nodes of the fixed binary tree over the blocks of all shards
  (`summation.py`). So the number of shards changes no bits.
* Kernels are compiled for arrays that are aligned and writable, with contiguous frames (in memory
  from `room_for_frames` if there are several channels): copy what came over a network before.

Frames come first here: Y and X = ΦY are (C, n, M), activations (n, K), a model of the power (n, M).
"""

from __future__ import annotations

import importlib
import math
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import Array, Mask
from phinmf.arrays import levels, room_for_frames
from phinmf.arrays.threads import Workers, no_fork
from phinmf.divergences import Divergence, compiled_family
from phinmf.divergences.base import LEAST
from phinmf.engines.compiled.summation import Node, Tree, blocks_of, stretches_of
from phinmf.engines.sums import CHECK_EVERY

Nodes: TypeAlias = list[Node]  #: sums over the blocks of a shard, as far as the tree adds them up


class Factors(NamedTuple):
    """The model WH of the power."""

    H: Array  #: (n, K)
    Wt: Array  #: (K, M): Wᵀ, contiguous


PowerModel: TypeAlias = Factors | Array  #: WH, or any model V̂ (n, M)


def rows_of(model: PowerModel, frames: slice) -> PowerModel:
    """Return the model of the power of consecutive frames."""
    return Factors(model.H[frames], model.Wt) if isinstance(model, Factors) else model[frames]


class Scratch(threading.local):
    """Memory for intermediate results of one block, used again for the next one of the thread."""

    def array(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
        """Return an array of this thread; the next one of the same name overwrites it."""
        memory, size = self.__dict__, math.prod(shape)
        if name not in memory or memory[name].size < size or memory[name].dtype != dtype:
            memory[name] = np.empty(size, dtype)
        return np.asarray(memory[name][:size].reshape(shape))


class Shard:
    """Computes with the frames of consecutive blocks."""

    def __init__(
        self,
        N: int,
        blocks: slice,
        weights: Array,
        equal: bool,
        divergence: Divergence,
        workers: Workers,
        scratch: Scratch | None = None,
    ) -> None:
        """Use these of the blocks of N frames, and the weights (n,) of their own frames.

        `equal` says whether the weights of all N frames are equal.
        """
        all_blocks = blocks_of(N)
        self.N, self.n_blocks = N, len(all_blocks)
        self.first = blocks.start  #: number of the first block
        chosen = all_blocks[blocks]
        start = chosen[0].start
        self.frames = slice(start, chosen[-1].stop)  #: of the N frames
        self.blocks = [slice(b.start - start, b.stop - start) for b in chosen]  #: of its frames
        self.weights, self.equal = np.array(weights), equal
        family = compiled_family(divergence)
        if family is None:
            raise TypeError(f"no kernels are compiled for {divergence!r}: use the array engine")
        self.family = int(family)  #: the divergence as the kernels know it
        self.divergence = divergence
        self.workers = workers
        self.scratch = scratch or Scratch()

    def __reduce__(self) -> tuple[type[Shard], tuple[object, ...]]:
        """Copy a shard to another process, where it gets threads and scratch memory of its own."""
        blocks = slice(self.first, self.first + len(self.blocks))
        workers = Workers(self.workers.n_threads)
        return Shard, (self.N, blocks, self.weights, self.equal, self.divergence, workers)

    # where it computes

    def computing(self) -> AbstractContextManager[object]:
        """Return the context that all computations are made in."""
        return self.workers

    def placed(self, Y: Array) -> Array:
        """Return frames in the memory that is computed with."""
        return Y

    def room(self, Y: Array) -> Array:
        """Return memory for frames of the shape of these."""
        return room_for_frames(Y.shape, Y.dtype)

    # the transform

    def rotated(self, Y: Array, T: Array, out: Array | None = None) -> Array:
        """(C, n, P): the products of frames (C, n, M) with the rows of T (P, M)."""
        if out is None:
            out = room_for_frames((*Y.shape[:2], len(T)), Y.dtype)
        target, Tt = out, T.T.astype(Y.dtype, copy=False)
        self.workers.each(lambda b: np.matmul(Y[:, b], Tt, out=target[:, b]), self.blocks)
        return out

    # values for each frame

    def powers(self, Y: Array) -> Array:
        """(n,): mean power of each frame, over its samples and channels."""
        C, _, M = Y.shape
        return (levels.energies(Y.transpose(0, 2, 1)) / (C * M)).astype(Y.dtype)

    def converged_activations(
        self, X: Array, H: Array, W: Array, mu: float, eps: float, tol: float, max_updates: int
    ) -> Array:
        """Return H given W after updates of each frame until it converges.

        See `Engine.converge_activations`; a unit of activation costs `mu`.
        """
        H = H.copy()
        Wt = np.zeros((W.shape[1] + W.shape[1] % 2, len(W)))
        Wt[: W.shape[1]] = W.T
        numbers = float(mu), float(eps), LEAST, float(tol), CHECK_EVERY, max_updates
        degree = float(self.divergence.degree)
        converge = kernels("nmf_kernels").converge_block_for(self.family)
        self.workers.each(lambda b: converge(X[:, b], H[b], Wt, *numbers, degree), self.blocks)
        return H

    def smooth_activations(
        self, X: Array, H: Array, links: Mask, W: Array, rates: Array, smoothness: float,
        eps: float, gamma: float,
    ) -> Array:  # fmt: skip
        """Return H after one update of smooth activations, for the shard of all N frames.

        Frames of even number are updated first, then those of odd number. `links` (N + 1,) says
        whether each frame, and the one after the last, follows the one before it.
        """
        H = H.copy()
        W, Wt, rates = contiguous(W), contiguous(W.T), rates.astype(H.dtype)
        numbers = [H.dtype.type(x) for x in (smoothness, eps, gamma, LEAST)]
        update = kernels("nmf_kernels").smooth_block_for(self.family)
        for parity in (0, 1):

            def update_block(b: slice, parity: int = parity) -> None:
                start = b.start + (b.start + parity) % 2
                update(X, self.weights, links, H, start, b.stop, W, Wt, rates, *numbers)

            self.workers.each(update_block, self.blocks)
        return H

    # sums over frames

    def energies(self, X: Array) -> Nodes:
        """(M,): energy of each atom, weighted, summed over channels."""

        def energies(b: slice) -> tuple[Array]:
            x, w = X[:, b], self.weights[b]
            return (np.einsum("n,cnm,cnm->m", w, x, x, dtype=np.float64),)

        return self._sum(energies)

    def activation_sums(self, H: Array) -> Nodes:
        """(K,): H1, weighted."""
        return self._sum(lambda b: (self.weights[b] @ H[b],))

    def roughness(self, H: Array, links: Mask) -> Nodes:
        """Σ d(h_{n-1} | h_n) over linked frames; `links` as in `smooth_activations`."""
        roughness = kernels("nmf_kernels").roughness
        return self._sum(lambda b: (roughness(H, links, b.start, b.stop),))

    def nmf_pass(
        self, X: Array, H: Array, W: Array, rates: Array, eps: float, gamma: float
    ) -> tuple[Array, Nodes]:
        """Return H after an update given W, and the sums (PHᵀ)ᵀ, (QHᵀ)ᵀ and H1 at this H.

        `rates` (K,) is what the penalty adds to the denominators of H. γ = 0 leaves H as it is.
        """
        H = H.copy() if gamma else H
        W, Wt, rates = contiguous(W), contiguous(W.T), rates.astype(H.dtype)
        numbers = [H.dtype.type(x) for x in (eps, gamma, LEAST)]
        update = kernels("nmf_kernels").nmf_block_for(self.family)

        def nmf_block(b: slice) -> tuple[Array, Array, Array]:
            PH, QH, H1 = np.zeros_like(Wt), np.zeros_like(Wt), np.zeros_like(Wt[:, 0])
            update(X[:, b], self.weights[b], H[b], W, Wt, rates, *numbers, PH, QH, H1)
            return PH, QH, H1

        return H, self._sum(nmf_block)

    def evaluate(
        self, X: Array, model: PowerModel, eps: float, T: Array | None = None,
        out: Array | None = None,
    ) -> Nodes:  # fmt: skip
        """Loss at TX and C times its gradient; None stands for the identity.

        TX is written to `out`, an array like X; without it, to scratch memory block by block.
        """
        kernel, small = kernels("kernels").loss_and_slope_for(self.family), X.dtype.type(eps)
        Tt = None if T is None else T.T.astype(X.dtype, copy=False)

        def loss_and_gradient(b: slice) -> tuple[float, Array]:
            x = X[:, b]
            if Tt is not None:
                x = np.matmul(x, Tt, out=self._scratch_like(x) if out is None else out[:, b])
            F = self.scratch.array("F", x.shape, x.dtype)
            weights, v_hat = self.weights[b], self._power(model, b)
            loss = float(kernel(x, v_hat, weights, self.equal, small, F))
            G = F[0].T @ x[0]  # (8)
            for c in range(1, len(F)):
                G += F[c].T @ x[c]
            return loss, G

        return self._sum(loss_and_gradient)

    def loss(self, X: Array, model: PowerModel, eps: float) -> Nodes:
        """Loss at X."""
        kernel, small = kernels("kernels").loss_and_slope_for(self.family), X.dtype.type(eps)

        def loss(b: slice) -> tuple[float]:
            x = X[:, b]
            slopes = self.scratch.array("F", x.shape, x.dtype)
            weights, v_hat = self.weights[b], self._power(model, b)
            return (float(kernel(x, v_hat, weights, self.equal, small, slopes)),)

        return self._sum(loss)

    def curvature(self, X: Array, model: PowerModel, eps: float, exact: bool) -> Nodes:
        """Σ_n f''(x_in) x_jn² at X if exact, and the same with the bound b of (12) for f''."""
        kernel, small = kernels("kernels").curvatures_for(self.family), X.dtype.type(eps)

        def curvatures(b: slice) -> list[Array]:
            x, v_hat = X[:, b], self._power(model, b)
            products: list[Array] = []
            B, V = (self.scratch.array(name, x.shape[1:], X.dtype) for name in ("F", "V"))
            for kind in (True, False) if exact else (False,):
                kernel(x, v_hat, self.weights[b], small, kind, B, V)
                products.append(B.T @ V)  # (9), (12)
            return products

        return self._sum(curvatures)

    def _power(self, model: PowerModel, b: slice) -> Array:
        """Return the model of the power of a block (n, M); WH is in scratch memory."""
        if not isinstance(model, Factors):
            return model[b]
        h, Wt = model.H[b], model.Wt
        return np.matmul(h, Wt, out=self.scratch.array("WH", (len(h), Wt.shape[1]), h.dtype))

    def _scratch_like(self, x: Array) -> Array:
        """Return scratch memory for the x of a block, of the same kind to compiled code."""
        C, n, M = x.shape
        return self.scratch.array("X", (C, n + 1, M), x.dtype)[:, :n]

    def _sum(self, of_block: Callable[[slice], Sequence[Any]]) -> Nodes:
        """Add up what a function returns for each block, as far as the tree allows."""
        tree, number = Tree(self.n_blocks), self.first

        def add(sums: Sequence[Any]) -> None:
            nonlocal number
            tree.add(Node(number, number + 1, list(sums)))
            number += 1

        self.workers.each(of_block, self.blocks, add)
        return tree.nodes


def shards_of(
    weights: Array, divergence: Divergence, workers: Workers, n_shards: int = 1
) -> list[Shard]:
    """Cut frames of these weights (N,) into shards, fewer if there are not so many blocks.

    They share scratch memory: one after the other may compute.
    """
    N, equal, scratch = len(weights), bool((weights == weights[0]).all()), Scratch()
    all_blocks, shards = blocks_of(N), []
    for blocks in stretches_of(len(all_blocks), n_shards):
        own = weights[all_blocks[blocks][0].start : all_blocks[blocks][-1].stop]
        shards.append(Shard(N, blocks, own, equal, divergence, workers, scratch))
    return shards


def kernels(name: str) -> ModuleType:
    """Return a module of kernels, imported when first needed: importing Numba is slow."""
    with no_fork:
        return importlib.import_module(f"phinmf.engines.compiled.{name}")


def contiguous(A: Array) -> Array:
    """Return a matrix as compiled code expects it: row by row, aligned and writable."""
    return np.require(A, requirements=["C", "A", "W"])
