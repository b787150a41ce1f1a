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
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import Array, Mask
from phinmf.arrays import levels, room_for_frames
from phinmf.arrays.threads import Workers, no_fork
from phinmf.divergences import Divergence, compiled_family
from phinmf.divergences.base import LEAST
from phinmf.engines.compiled.summation import Node, add_up, blocks_of, nodes_within, stretches_of
from phinmf.engines.sums import CHECK_EVERY
from phinmf.errors import InvalidType

Nodes: TypeAlias = list[Node]  #: sums over the blocks of a shard, as far as the tree adds them up


@dataclass(frozen=True)
class PowerModel:
    """A model of the power, frames first: WH, or any V̂."""

    frames: Array  #: (n, K): H; without W (n, M): V̂
    Wt: Array | None = None  #: (K, M): Wᵀ, contiguous

    def __getitem__(self, frames: slice) -> PowerModel:
        """Return the model of consecutive frames."""
        return PowerModel(self.frames[frames], self.Wt)


class Scratch(threading.local):
    """Memory for intermediate results of one block, used again for the next one of the thread."""

    def array(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
        """Return an array of this thread; the next one of the same name overwrites it."""
        memory, size = self.__dict__, math.prod(shape)
        if name not in memory or memory[name].size < size or memory[name].dtype != dtype:
            memory[name] = np.empty(size, dtype)
        return np.asarray(memory[name][:size].reshape(shape))

    def __reduce__(self) -> tuple[type[Scratch], tuple[()]]:
        """Let a shard in another process have memory of its own."""
        return Scratch, ()


class Shard:
    """Computes with the frames of consecutive blocks."""

    def __init__(
        self,
        weights: Array,
        divergence: Divergence,
        workers: Workers,
        blocks: slice = slice(None),
        scratch: Scratch | None = None,
    ) -> None:
        """Use these of the blocks of all frames, whose weights are (N,)."""
        all_blocks = blocks_of(len(weights))
        first, end, _ = blocks.indices(len(all_blocks))
        start = all_blocks[first].start
        self.frames = slice(start, all_blocks[end - 1].stop)  #: of the N frames
        self.blocks = []  #: of its own frames
        for block in all_blocks[first:end]:
            self.blocks.append(slice(block.start - start, block.stop - start))
        self.nodes = nodes_within(len(all_blocks), first, end)  #: numbers of blocks that it adds up
        self.weights = weights[self.frames].copy()
        self.equal = bool((weights == weights[0]).all())  #: whether all N weights are
        family = compiled_family(divergence)
        if family is None:
            raise InvalidType(f"no kernels are compiled for {divergence!r}: use the array engine")
        self.family = int(family)  #: the divergence as the kernels know it
        self.divergence = divergence
        self.workers = workers
        self.scratch = scratch or Scratch()

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
        list(self.workers.map(lambda b: np.matmul(Y[:, b], Tt, out=target[:, b]), self.blocks))
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
        list(self.workers.map(lambda b: converge(X[:, b], H[b], Wt, *numbers, degree), self.blocks))
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

            list(self.workers.map(update_block, self.blocks))
        return H

    # sums over frames

    def energies(self, X: Array) -> Nodes:
        """(M,): energy of each atom, weighted, summed over channels."""

        def energies(b: slice) -> Node:
            x, w = X[:, b], self.weights[b]
            return Node(1, [np.einsum("n,cnm,cnm->m", w, x, x, dtype=np.float64)])

        return self._sum(energies)

    def activation_sums(self, H: Array) -> Nodes:
        """(K,): H1, weighted."""
        return self._sum(lambda b: Node(1, [self.weights[b] @ H[b]]))

    def roughness(self, H: Array, links: Mask) -> Nodes:
        """Σ d(h_{n-1} | h_n) over linked frames; `links` as in `smooth_activations`."""
        roughness = kernels("nmf_kernels").roughness
        return self._sum(lambda b: Node(1, [roughness(H, links, b.start, b.stop)]))

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

        def nmf_block(b: slice) -> Node:
            PH, QH, H1 = np.zeros_like(Wt), np.zeros_like(Wt), np.zeros_like(Wt[:, 0])
            update(X[:, b], self.weights[b], H[b], W, Wt, rates, *numbers, PH, QH, H1)
            return Node(1, [PH, QH, H1])

        return H, self._sum(nmf_block)

    def evaluate(
        self, X: Array, model: PowerModel, eps: float, T: Array | None = None,
        out: Array | None = None, gradient: bool = True,
    ) -> Nodes:  # fmt: skip
        """Loss at TX, and C times its gradient; None stands for the identity.

        TX is written to `out`, an array like X; without it, to scratch memory block by block.
        """
        kernel = kernels("kernels").loss_and_slope_for(self.family)
        small = X.dtype.type(eps)
        Tt = None if T is None else T.T.astype(X.dtype, copy=False)

        def loss_and_gradient(b: slice) -> Node:
            x = X[:, b]
            if Tt is not None:
                x = np.matmul(x, Tt, out=self._scratch_like(x) if out is None else out[:, b])
            F = self.scratch.array("F", x.shape, x.dtype)
            v_hat = self._power(model, b)
            loss = kernel(x, v_hat, self.weights[b], self.equal, small, F)
            sums: list[Any] = [x.shape[2] // v_hat.shape[1] * float(loss)]  # of all atoms
            if gradient:
                G = F[0].T @ x[0]  # (8)
                for c in range(1, len(F)):
                    G += F[c].T @ x[c]
                sums.append(G)
            return Node(1, sums)

        return self._sum(loss_and_gradient)

    def curvature(self, X: Array, model: PowerModel, eps: float, exact: bool) -> Nodes:
        """Σ_n f''(x_in) x_jn² at X if exact, and the same with the bound b of (12) for f''.

        A row for each power: those of a pair's two atoms are equal.
        """
        kernel, small = kernels("kernels").curvatures_for(self.family), X.dtype.type(eps)

        def curvatures(b: slice) -> Node:
            x, v_hat = X[:, b], self._power(model, b)
            products = []
            B = self.scratch.array("F", v_hat.shape, X.dtype)
            V = self.scratch.array("V", x.shape[1:], X.dtype)
            for kind in (True, False) if exact else (False,):
                kernel(x, v_hat, self.weights[b], small, kind, B, V)
                products.append(B.T @ V)  # (9), (12)
            return Node(1, products)

        return self._sum(curvatures)

    def _power(self, model: PowerModel, b: slice) -> Array:
        """Return the model of the power of a block (n, M); WH is in scratch memory."""
        h, Wt = model.frames[b], model.Wt
        if Wt is None:
            return h
        return np.matmul(h, Wt, out=self.scratch.array("WH", (len(h), Wt.shape[1]), h.dtype))

    def _scratch_like(self, x: Array) -> Array:
        """Return scratch memory for the x of a block, of the same kind to compiled code."""
        C, n, M = x.shape
        return self.scratch.array("X", (C, n + 1, M), x.dtype)[:, :n]

    def _sum(self, of_block: Callable[[slice], Node]) -> Nodes:
        """Add up what a function returns for each block, as far as the tree allows."""
        nodes = []
        with closing(self.workers.map(of_block, self.blocks)) as blocks:
            for n in self.nodes:
                nodes.append(add_up(n, blocks))
        return nodes


def shards_of(
    weights: Array, divergence: Divergence, workers: Workers, n_shards: int
) -> list[Shard]:
    """Cut frames of these weights (N,) into shards, fewer if there are not so many blocks.

    They share scratch memory: one after the other may compute.
    """
    scratch = Scratch()
    stretches = stretches_of(len(blocks_of(len(weights))), n_shards)
    return [Shard(weights, divergence, workers, blocks, scratch) for blocks in stretches]


def kernels(name: str) -> ModuleType:
    """Return a module of kernels, imported when first needed: importing Numba is slow."""
    with no_fork:
        return importlib.import_module(f"phinmf.engines.compiled.{name}")


def contiguous(A: Array) -> Array:
    """Return a matrix as compiled code expects it: row by row, aligned and writable."""
    return np.require(A, requirements=["C", "A", "W"])
