"""The fast engine of the CPU: it holds Y, X, the trial point and H, and shards compute with them.

Sums run over the same blocks in the same order whatever the number of threads and of shards, so
the bits agree, in memory and on disk. H is always in memory, and replaced as a whole.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import AnyArray, Array, Indices, Mask
from phinmf.arrays import with_separate_channels
from phinmf.arrays.lazy import is_lazy
from phinmf.arrays.threads import Workers
from phinmf.divergences import Divergence, Penalty
from phinmf.engines.base import (
    Activations,
    DictionarySums,
    Engine,
    Evaluation,
    Objective,
    as_array,
    links_among,
    links_of,
)
from phinmf.engines.compiled.frames import FramesInMemory, FrameStore
from phinmf.engines.compiled.on_disk import FramesOnDisk, read_frames, shards_needed
from phinmf.engines.compiled.shard import (
    Factors,
    Nodes,
    PowerModel,
    Shard,
    contiguous,
    rows_of,
    shards_of,
)
from phinmf.engines.compiled.summation import blocks_of, total
from phinmf.linalg.algebra import Algebra

NOT_IN_MEMORY = (
    "smoothness is set, which needs all frames in memory, but they do not fit: leave it out, or"
    " raise the limit phinmf.memory of dask's configuration"
)


class CompiledEngine(Engine):
    """Frames in blocks that threads compute in turn, with kernels for the divergence.

    Frames of a dask array are read into memory, or stay on disk if they do not fit: then they are
    cut into shards that take turns.
    """

    dask_arrays = True
    compiled_only = True

    def __init__(
        self,
        Y: AnyArray,
        divergence: Divergence,
        n_threads: int | None = None,
        weights: Array | None = None,
        links: Mask | None = None,
        workers: Workers | None = None,
        atoms: Array | None = None,
    ) -> None:
        """Hold frames, or their products with atoms (P, M)."""
        C, M, N = Y.shape
        self.shape, self.dtype = (C, M if atoms is None else len(atoms), N), Y.dtype
        self.atoms = None if atoms is None else np.asfortranarray(atoms, self.dtype)
        self.divergence = divergence
        self.weights = np.ones(N) if weights is None else weights
        self.links = links_of(self.weights, links)
        self.workers = workers or Workers(n_threads)
        self.algebra = Algebra(self.workers)
        self.n_blocks = len(blocks_of(N))
        self.H: Array = np.zeros((N, 0), self.dtype)  #: (N, K)
        self.source = Y
        self._frames = None if is_lazy(Y) else self._in_memory(Y.transpose(0, 2, 1))

    @property
    def frames(self) -> FrameStore:
        """The frames; those of a dask array are looked at when they are first needed."""
        if self._frames is None:
            self._frames = self._read()
        return self._frames

    def _in_memory(self, Y: Array) -> FrameStore:
        """Hold frames (C, N, M), or their products with the atoms."""
        w, equal = self.weights, bool((self.weights == self.weights[0]).all())
        blocks = slice(0, self.n_blocks)
        shard = Shard(self.shape[2], blocks, w, equal, self.divergence, self.workers)
        Y = with_separate_channels(Y)
        if self.atoms is not None:
            Y = shard.rotated(Y, self.atoms)
        self.source = Y.transpose(0, 2, 1)
        return FramesInMemory(shard, Y)

    def _read(self) -> FrameStore:
        """Hold frames of a dask array in memory if there is room for them, otherwise on disk."""
        n_shards = shards_needed(self.source.shape, self.dtype, self.atoms)
        if n_shards == 1:
            return self._in_memory(read_frames(self.source, slice(0, self.shape[2]), self.dtype))
        shards = shards_of(self.weights, self.divergence, self.workers, n_shards)
        return FramesOnDisk(shards, self.source, self.dtype, self.atoms)

    def __enter__(self) -> CompiledEngine:
        self.workers.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._frames is not None:
            self._frames.close()
        self.workers.__exit__()

    def subset(
        self, frames: Indices | slice, dtype: DTypeLike, weights: Array, atoms: Array | None = None
    ) -> CompiledEngine:
        if not is_lazy(self.source):
            Y = self.source.transpose(0, 2, 1)[:, frames].transpose(0, 2, 1)
        else:
            indices = np.arange(self.shape[2])[frames]
            whole = len(indices) == self.shape[2]
            Y = self.source if whole else self.source[:, :, indices].compute()
        links = links_among(frames, self.links)
        Y = Y.astype(dtype) if is_lazy(Y) else Y.astype(dtype, copy=False)
        return CompiledEngine(Y, self.divergence, None, weights, links, self.workers, atoms)

    def rest(self) -> None:
        if self._frames is not None:
            self._frames.rest()

    def rotate(self, Phi: Array) -> None:
        self.frames.rotate(Phi)

    def powers(self) -> Array:
        return np.concatenate([shard.powers(Y) for shard, Y in self.frames.originals()])

    def energies(self) -> Array:
        nodes = [n for shard, X in self.frames.transformed() for n in shard.energies(X)]
        return np.asarray(total(self.n_blocks, nodes)[0] / self.shape[0])

    def activations(self) -> Array:
        return self.H.copy().T

    def set_activations(self, H: Activations) -> None:
        self.H = as_array(H).T.astype(self.dtype, order="C")

    def scale_activations(self, s: Array) -> None:
        self.H *= s

    def activation_sums(self) -> Array:
        nodes = [n for s in self.frames.shards for n in s.activation_sums(self.H[s.frames])]
        return np.asarray(total(self.n_blocks, nodes)[0])

    def nmf_pass(self, W: Array, penalty: Penalty, eps: float, gamma: float) -> DictionarySums:
        rates = np.full(W.shape[1], penalty.sparsity if gamma else 0.0)
        if gamma and penalty.smoothness:
            self._update_smoothly(W, rates, penalty.smoothness, eps, gamma)
            gamma = 0.0
        H: list[Array] = []
        nodes: Nodes = []
        for shard, X in self.frames.transformed():
            updated, sums = shard.nmf_pass(X, self.H[shard.frames], W, rates, eps, gamma)
            H.append(updated)
            nodes += sums
        self.H = joined(H)
        numerator, denominator, activation = total(self.n_blocks, nodes)
        return DictionarySums(numerator.T, denominator.T, activation)

    def _update_smoothly(
        self, W: Array, rates: Array, smoothness: float, eps: float, gamma: float
    ) -> None:
        links = self._links_in_memory()
        for shard, X in self.frames.transformed():
            self.H = shard.smooth_activations(X, self.H, links, W, rates, smoothness, eps, gamma)

    def _links_in_memory(self) -> Mask:
        """Return whether each frame, and the one after the last, follows the one before it."""
        if len(self.frames.shards) > 1:
            raise ValueError(NOT_IN_MEMORY)  # less memory is free than when the fit began
        return np.append(self.links, False)

    def roughness(self) -> float:
        links = self._links_in_memory()
        (shard,) = self.frames.shards
        return float(total(self.n_blocks, shard.roughness(self.H, links))[0])

    def converge_activations(
        self, W: Array, penalty: Penalty, eps: float, tol: float, max_updates: int
    ) -> None:
        numbers = penalty.sparsity, eps, tol, max_updates
        self.H = joined([
            shard.converged_activations(X, self.H[shard.frames], W, *numbers)
            for shard, X in self.frames.transformed()
        ])  # fmt: skip

    def objective(self, W: Array, eps: float) -> Objective:
        return CompiledObjective(self, Factors(self.H, contiguous(W.T)), eps)

    def objective_of(self, V_hat: Array, eps: float) -> Objective:
        return CompiledObjective(self, V_hat.T, eps)


def joined(rows: list[Array]) -> Array:
    """Return the rows of consecutive shards as one array."""
    return rows[0] if len(rows) == 1 else np.concatenate(rows)


class ShardsObjective(Objective):
    """L(TΦ) as a sum of what the shards of an engine return."""

    def __init__(self, engine: Engine, eps: float) -> None:
        self.algebra = engine.algebra
        self.n_channels = engine.shape[0]
        self.eps = eps
        self._bound: Array | None = None  #: what `bound` returns next, computed by `curvature`

    @abstractmethod
    def sums(self, method: Callable[..., Nodes], *arguments: object) -> list[Any]:
        """Add up what a method of every shard returns for its X and the model of its power."""

    @abstractmethod
    def sums_at(self, T: Array | None) -> list[Any]:
        """Add up what `Shard.evaluate` returns, and remember TX for `move`."""

    def evaluate(self, T: Array | None = None) -> Evaluation:
        self.evaluations += 1
        loss, G = self.sums_at(T)
        G /= G.dtype.type(self.n_channels)
        return Evaluation(float(loss), G)

    def loss(self) -> float:
        return float(self.sums(Shard.loss)[0])

    def move(self, T: Array) -> None:
        self._bound = None

    def bound(self) -> Array:
        bound, self._bound = self._bound, None
        return self.sums(Shard.curvature, False)[0] if bound is None else bound

    def curvature(self) -> Array:
        exact, self._bound = self.sums(Shard.curvature, True)  # solvers need both
        return exact


class CompiledObjective(ShardsObjective):
    """The model of the power is computed block by block and never held as a whole."""

    def __init__(self, engine: CompiledEngine, model: PowerModel, eps: float) -> None:
        """Use a model of the power of all frames."""
        super().__init__(engine, eps)
        self.engine, self.model = engine, model

    def sums(self, method: Callable[..., Nodes], *arguments: object) -> list[Any]:
        nodes: Nodes = []
        for shard, X in self.engine.frames.transformed():
            nodes += method(shard, X, rows_of(self.model, shard.frames), self.eps, *arguments)
        return total(self.engine.n_blocks, nodes)

    def sums_at(self, T: Array | None) -> list[Any]:
        memory = None if T is None else self.engine.frames.trial_memory()
        sums = self.sums(Shard.evaluate, T, memory)
        if T is not None:
            self.engine.frames.trial = T
        return sums

    def move(self, T: Array) -> None:
        super().move(T)
        self.engine.frames.move(T)
