"""The fast engine of the CPU: it holds Y, X, the trial point and H, and shards compute with them.

Invariants:

* Sums run over the same blocks in the same order whatever the number of threads and of shards, so
  the bits agree, in memory and on disk.
* Y is never changed. X and H are replaced as a whole, so an interrupt leaves each of them as it was
  before or as it is after.
* X after moves T₁, T₂ … is computed as T₂(T₁(ΦY)) everywhere: the bits do not depend on when.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import AnyArray, Array, Indices, Mask
from phinmf.arrays import for_each_atom, with_separate_channels
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
)
from phinmf.engines.compiled.on_disk import FramesOnDisk, read_frames, shards_needed
from phinmf.engines.compiled.shard import Nodes, PowerModel, Shard, contiguous, shards_of
from phinmf.engines.compiled.summation import blocks_of, total
from phinmf.errors import InvalidValue
from phinmf.linalg.algebra import Algebra

Out = TypeVar("Out")

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
        super().__init__(Y, divergence, n_threads, weights, links)
        C, _, N = self.shape
        self.atoms = None
        if atoms is not None:
            self.atoms = np.asfortranarray(atoms, self.dtype)
            self.shape = (C, len(atoms), N)
        self.workers = workers or Workers(n_threads)
        self.algebra = Algebra(self.workers)
        self.n_blocks = len(blocks_of(N))
        self.H: Array = np.zeros((N, 0), self.dtype)  #: (N, K)
        self.source = Y
        self._frames: FramesInMemory | FramesOnDisk | None = None

    @property
    def frames(self) -> FramesInMemory | FramesOnDisk:
        """The frames, which are read when they are first needed.

        Those of a dask array are held in memory if there is room for them.
        (`functools.cached_property` holds a lock meanwhile before Python 3.12, which a child
        process that is forked then would wait for.)
        """
        if self._frames is not None:
            return self._frames
        Y, N = self.source, self.shape[2]
        if is_lazy(Y):
            n_shards = shards_needed(Y.shape, self.dtype, self.atoms)
            if n_shards > 1:
                shards = shards_of(self.weights, self.divergence, self.workers, n_shards)
                self._frames = FramesOnDisk(shards, Y, self.dtype, self.atoms)
                return self._frames
            Y = read_frames(Y, slice(0, N), self.dtype)
        else:
            Y = with_separate_channels(Y.transpose(0, 2, 1))
        shard = Shard(self.weights, self.divergence, self.workers)
        if self.atoms is not None:
            Y = shard.rotated(Y, self.atoms)
        self.source = Y.transpose(0, 2, 1)
        self._frames = FramesInMemory(shard, Y)
        return self._frames

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
        return np.concatenate(self.frames.powers())

    def energies(self) -> Array:
        nodes = chain.from_iterable(self.frames.each(Shard.energies, ()))
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
            numbers = rates, penalty.smoothness, eps, gamma
            links, gamma = self._links_in_memory(), 0.0
            (self.H,) = self.frames.each(Shard.smooth_activations, [self.H], links, W, *numbers)
        results = self.frames.each(Shard.nmf_pass, [self.H], W, rates, eps, gamma)
        self.H = joined([H for H, _ in results])
        nodes = chain.from_iterable(nodes for _, nodes in results)
        numerator, denominator, activation = total(self.n_blocks, nodes)
        return DictionarySums(numerator.T, denominator.T, activation)

    def _links_in_memory(self) -> Mask:
        """Return whether each frame, and the one after the last, follows the one before it."""
        if len(self.frames.shards) > 1:
            raise InvalidValue(NOT_IN_MEMORY)  # less memory is free than when the fit began
        return np.append(self.links, False)

    def roughness(self) -> float:
        links = self._links_in_memory()
        (shard,) = self.frames.shards
        return float(total(self.n_blocks, shard.roughness(self.H, links))[0])

    def converge_activations(
        self, W: Array, penalty: Penalty, eps: float, tol: float, max_updates: int
    ) -> None:
        numbers = penalty.sparsity, eps, tol, max_updates
        self.H = joined(self.frames.each(Shard.converged_activations, [self.H], W, *numbers))

    def objective(self, W: Array, eps: float) -> Objective:
        return CompiledObjective(self, PowerModel(self.H, contiguous(W.T)), eps)

    def objective_of(self, V_hat: Array, eps: float) -> Objective:
        return CompiledObjective(self, PowerModel(V_hat.T), eps)


def joined(rows: list[Array]) -> Array:
    """Return the rows of consecutive shards as one array."""
    return rows[0] if len(rows) == 1 else np.concatenate(rows)


class FramesInMemory:
    """One shard, in three arrays as large as its frames at most: Y, X and a trial point.

    X is always computed in the memory of the trial point, and the two are exchanged.
    """

    trial: Array | None = None  #: the T whose TX is in the memory of the trial point

    def __init__(self, shard: Shard, Y: Array) -> None:
        """Hold frames Y (C, N, M)."""
        self.shard = shard
        self.shards = [shard]
        self.Y = self.X = Y
        self._spare: Array | None = None  #: memory of the trial point

    def each(self, method: Callable[..., Out], rows: Sequence[Any], *arguments: Any) -> list[Out]:
        """Return what a method of every shard returns for its X, its rows and other arguments.

        Each of the `rows` has an axis of frames, which comes first.
        """
        return [method(self.shard, self.X, *rows, *arguments)]

    def powers(self) -> list[Array]:
        """Return the mean power of each frame of every shard."""
        return [self.shard.powers(self.Y)]

    def rest(self) -> None:
        """X ← Y, and free the memory of X and of the trial point."""
        self.X, self._spare, self.trial = self.Y, None, None

    def rotate(self, Phi: Array) -> None:
        """X ← ΦY."""
        self.trial = None
        self.move(Phi, self.Y)

    def move(self, T: Array, X: Array | None = None) -> None:
        """X ← TX, which costs nothing if it is the trial point; X are the present ones, or Y."""
        TX = self._spare
        if T is not self.trial or TX is None:
            self.trial = None  # its memory is written to
            TX = self.shard.rotated(self.X if X is None else X, T, TX)
        # the memory of Y is never that of a trial point
        self._spare, self.trial = None if self.X is self.Y else self.X, None
        self.X = TX

    def trial_memory(self) -> Array:
        """Return memory for TX, to be named by `trial` when it is complete."""
        self.trial = None  # what it held before is lost
        if self._spare is None:
            self._spare = self.shard.room(self.Y)
        return self._spare

    def close(self) -> None:
        """Do nothing: memory is freed by itself."""


class ShardsObjective(Objective):
    """L(TΦ) as a sum of what the shards of an engine return."""

    n_channels: int
    _bound: Array | None = None  #: what `bound` returns next, computed by `curvature`

    @abstractmethod
    def sums(self, method: Callable[..., Nodes], *arguments: object) -> list[Any]:
        """Add up what a method of every shard returns for its X and the model of its power."""

    def evaluation(self, sums: list[Any]) -> Evaluation:
        """Return the loss and the mean over channels of the gradient from the sums of shards."""
        loss, G = sums
        G /= G.dtype.type(self.n_channels)
        return Evaluation(float(loss), G)

    def loss(self) -> float:
        return float(self.sums(Shard.evaluate, None, None, False)[0])

    def bound(self) -> Array:
        bound, self._bound = self._bound, None
        if bound is None:
            (bound,) = self._curvatures(False)
        return bound

    def curvature(self) -> Array:
        exact, self._bound = self._curvatures(True)  # solvers need both
        return exact

    def _curvatures(self, exact: bool) -> list[Array]:
        """Return the bound, and before it the exact curvature: (M, M), also of pairs of atoms."""
        return [for_each_atom(A, A.shape[1]) for A in self.sums(Shard.curvature, exact)]


class CompiledObjective(ShardsObjective):
    """The model of the power is computed block by block and never held as a whole."""

    def __init__(self, engine: CompiledEngine, model: PowerModel, eps: float) -> None:
        self.engine, self.model, self.eps = engine, model, eps
        self.algebra, self.n_channels = engine.algebra, engine.shape[0]

    def sums(self, method: Callable[..., Nodes], *arguments: object) -> list[Any]:
        results = self.engine.frames.each(method, [self.model], self.eps, *arguments)
        return total(self.engine.n_blocks, chain.from_iterable(results))

    def evaluate(self, T: Array | None = None) -> Evaluation:
        self.evaluations += 1
        if T is None:
            return self.evaluation(self.sums(Shard.evaluate))
        frames = self.engine.frames
        sums = self.sums(Shard.evaluate, T, frames.trial_memory())
        frames.trial = T
        return self.evaluation(sums)

    def move(self, T: Array) -> None:
        self._bound = None
        self.engine.frames.move(T)
