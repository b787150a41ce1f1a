"""Frames on the workers of a Dask cluster: more than one machine.

* A task is a pure function of its arguments, and each of these is a future of another task or part
  of the task. So the scheduler computes again what is lost with a worker, with the same bits.
* The activations H of a shard are a future; an update makes a new one from it.
* X of a shard is the product of Y with the matrices Φ, T₁, T₂, … of the `chain`, one after the
  other as in memory. A worker remembers the last X and the last trial point TX; what it has
  forgotten it computes again.
* Sums come back as nodes of the tree of `compiled/summation.py`, and are added in its order.
* A list among the arguments of `DaskEngine.each` has an item for each shard.
"""

from __future__ import annotations

import copy
import operator
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import AnyArray, Array, Device, Indices, Mask
from phinmf.arrays import cast, indices, lazy, room_for_frames, to_numpy
from phinmf.arrays.cluster import Cluster, Future, check_versions, chunks, versions
from phinmf.arrays.threads import Workers
from phinmf.divergences import Divergence, Penalty
from phinmf.engines.base import (
    Activations,
    DictionarySums,
    Engine,
    Evaluation,
    LazyActivations,
    Objective,
    as_array,
    links_among,
)
from phinmf.engines.compiled.engine import CompiledEngine, FramesInMemory, ShardsObjective
from phinmf.engines.compiled.shard import Nodes, PowerModel, Shard, contiguous, shards_of
from phinmf.engines.compiled.summation import total
from phinmf.engines.tensor_shard import TensorShard
from phinmf.errors import InvalidValue
from phinmf.linalg.algebra import Algebra

Chain: TypeAlias = dict[str, Array]  #: Φ, T₁, T₂, … by the keys of their futures


class DaskEngine(Engine):
    """One shard for each thread of the workers of the current `distributed.Client`."""

    dask_arrays = True
    compiled_only = True

    def __init__(
        self,
        Y: AnyArray,
        divergence: Divergence,
        n_threads: int | None = None,
        weights: Array | None = None,
        links: Mask | None = None,
        device: Device = None,
    ) -> None:
        """Send frames to the workers, which compute with tensors if a device is named."""
        client = lazy.current_client()
        if client is None:
            raise InvalidValue(
                "engine is 'dask', but there is no cluster to compute on: make a"
                " distributed.Client first, or leave engine out"
            )
        self.cluster = Cluster(client)
        super().__init__(Y, divergence, n_threads, weights, links)
        self.workers = Workers(n_threads)
        self.algebra = Algebra(self.workers)
        threads = self.cluster.threads()
        self.shards = shards_of(self.weights, divergence, Workers(1), len(threads))
        self.addresses = threads[: len(self.shards)]  #: of the workers that get the frames first
        pieces = [self._pieces(Y[:, :, shard.frames]) for shard in self.shards]
        self.frames = self.each(frames_from, pieces, self.shards, versions(), device)
        self._clear()

    def _pieces(self, Y: AnyArray) -> list[Future]:
        """Return futures of frames: chunks (C, M, …) of a dask array, or one of an array in memory.

        Any worker may compute them: Dask does not begin a task that depends on no other one if the
        workers that it was meant for are lost, though others are allowed.
        """
        if lazy.is_lazy(Y):
            return list(self.cluster.client.compute(chunks(Y)))
        return [self.cluster.send(Y)]

    def _clear(self) -> None:
        """Begin without a transform, activations and a model."""
        self.chain: dict[str, Future] = {}  #: Φ, T₁, T₂, … of X by keys; empty: X = Y
        self.H: list[Future] = []  #: (n, K) of each shard
        self.n_components = 0
        #: the last model of `objective_of`, and that of each shard
        self.V_hat: tuple[Array | None, list[Future]] = (None, [])

    def __enter__(self) -> DaskEngine:
        self.workers.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.frames = []
        self._clear()
        self.workers.__exit__()

    def subset(
        self, frames: Indices | slice, dtype: DTypeLike, weights: Array, atoms: Array | None = None
    ) -> Engine:
        """Leave all frames where they are, or take a sample of them into this process."""
        C, M, N = self.shape
        numbers = np.arange(N)[frames]  # in order
        if len(numbers) < N:
            edges = np.searchsorted(numbers, [s.frames.stop for s in self.shards[:-1]])
            of_shards = zip(np.split(numbers, edges), self.shards, strict=True)
            places = [part - shard.frames.start for part, shard in of_shards]
            samples = self.cluster.results(self.each(sample, self.frames, places, dtype))
            Y = np.concatenate(samples, axis=1).transpose(0, 2, 1)
            followed = links_among(frames, self.links)
            return CompiledEngine(Y, self.divergence, None, weights, followed, self.workers, atoms)
        engine = copy.copy(self)
        engine._clear()
        engine.dtype, engine.shape = np.dtype(dtype), (C, M if atoms is None else len(atoms), N)
        rows = None if atoms is None else self.cluster.send(atoms)
        engine.frames = self.each(converted, self.frames, dtype, rows)
        return engine

    # tasks

    def each(self, task: Callable[..., Any], *arguments: Any) -> list[Future]:
        """Return the future of a task for each shard, which gets its item of every list."""
        return [
            self.cluster.submit(
                task, *(a[i] if isinstance(a, list) else a for a in arguments), address=address
            )
            for i, address in enumerate(self.addresses)
        ]

    def call(self, method: Callable[..., Any], *arguments: Any) -> list[Future]:
        """Return the future of what a method of each shard returns for its X and arguments."""
        return self.each(call, self.frames, self.chain, method, *arguments)

    def sums(self, nodes: list[Future]) -> list[Any]:
        """Add up the nodes of all shards, in the order of their blocks."""
        n = sum(len(shard.blocks) for shard in self.shards)
        return list(map(own, total(n, chain.from_iterable(self.cluster.results(nodes)))))

    def named(self, T: Array) -> dict[str, Future]:
        """Send a matrix and return its future by its key; a task gets a `Chain`."""
        future = self.cluster.send(T)
        return {future.key: future}

    # the transform

    def rest(self) -> None:
        self.chain = {}  # workers free X when they convert or sample the frames

    def rotate(self, Phi: Array) -> None:
        self.chain = self.named(Phi)
        if self.H:  # what a lost worker would have to repeat begins here
            self.set_activations(self.activations())

    # values for each frame

    def powers(self) -> Array:
        return np.concatenate(self.cluster.results(self.each(powers, self.frames)))

    def energies(self) -> Array:
        return np.asarray(self.sums(self.call(Shard.energies))[0] / self.shape[0])

    def gather(self, futures: list[Future]) -> Array:
        """Return activations (K, N) from futures (n, K) of each shard."""
        return np.concatenate(self.cluster.results(futures)).T

    def activations(self) -> Array:
        return self.gather(self.H)

    def lazy_activations(self) -> LazyActivations:
        return LazyActivations((self.n_components, self.shape[2]), self.H, self.gather)

    def set_activations(self, H: Activations) -> None:
        self.n_components = H.shape[0]
        if isinstance(H, LazyActivations) and len(H.futures) == len(self.shards):
            self.H = H.futures
        else:
            self.H = self._rows(as_array(H))

    def _rows(self, A: Array) -> list[Future]:
        """Return futures (n, …) of the columns of an array (…, N) that belong to each shard."""
        return [self.cluster.send(A[:, s.frames].T.astype(self.dtype)) for s in self.shards]

    def scale_activations(self, s: Array) -> None:
        self.H = self.each(np.multiply, self.H, s)

    def activation_sums(self) -> Array:
        return np.asarray(self.sums(self.each(activation_sums, self.frames, self.H))[0])

    def nmf_pass(self, W: Array, penalty: Penalty, eps: float, gamma: float) -> DictionarySums:
        rates = np.full(W.shape[1], penalty.sparsity if gamma else 0.0)
        pairs = self.call(Shard.nmf_pass, self.H, self.cluster.send(W), rates, eps, gamma)
        H, nodes = (self.each(operator.itemgetter(i), pairs) for i in (0, 1))
        numerator, denominator, activation = self.sums(nodes)
        if gamma:
            self.H = H
        return DictionarySums(numerator.T, denominator.T, activation)

    def converge_activations(
        self, W: Array, penalty: Penalty, eps: float, tol: float, max_updates: int
    ) -> None:
        numbers = penalty.sparsity, eps, tol, max_updates
        self.H = self.call(Shard.converged_activations, self.H, self.cluster.send(W), *numbers)

    def objective(self, W: Array, eps: float) -> Objective:
        Wt = self.cluster.send(contiguous(W.T))
        return DaskObjective(self, self.each(PowerModel, self.H, Wt), eps)

    def objective_of(self, V_hat: Array, eps: float) -> Objective:
        if self.V_hat[0] is not V_hat:
            self.V_hat = V_hat, self.each(PowerModel, self._rows(V_hat))
        return DaskObjective(self, self.V_hat[1], eps)


class DaskObjective(ShardsObjective):
    """Every shard has a model of its power, which is a future."""

    def __init__(self, engine: DaskEngine, models: list[Future], eps: float) -> None:
        self.engine, self.models, self.eps = engine, models, eps
        self.algebra, self.n_channels = engine.algebra, engine.shape[0]
        #: the last T that was evaluated, and its future by its key
        self._trial: tuple[Array | None, dict[str, Future]] = (None, {})

    def sums(self, method: Callable[..., Nodes], *arguments: object) -> list[Any]:
        return self.engine.sums(self.engine.call(method, self.models, self.eps, *arguments))

    def evaluate(self, T: Array | None = None) -> Evaluation:
        self.evaluations += 1
        if T is None:
            return self.evaluation(self.sums(Shard.evaluate))
        engine = self.engine
        self._trial = T, engine.named(T)
        arguments = engine.frames, engine.chain, self._trial[1], self.models, self.eps
        return self.evaluation(engine.sums(engine.each(evaluate, *arguments)))

    def move(self, T: Array) -> None:
        self._bound = None
        trial, future = self._trial
        self.engine.chain = self.engine.chain | (future if trial is T else self.engine.named(T))


# what workers compute


class FramesOnWorker(FramesInMemory):
    """The frames of a shard on a worker, with the last X and TX, which are not sent elsewhere."""

    def __init__(self, shard: Shard, Y: Array) -> None:
        """Hold frames (C, n, M)."""
        super().__init__(shard, shard.placed(Y))
        self._names: list[str] = []  #: keys of the matrices whose product with Y is X
        self.trial_name = ""  #: the key of `trial`
        self._lock = threading.Lock()  # after Ctrl-C a task may run beside those of the next call

    def __reduce__(self) -> tuple[Any, ...]:
        Y = to_numpy(self.Y).transpose(0, 2, 1)
        return frames_from, ([Y], self.shard, versions(), None)

    def __sizeof__(self) -> int:
        return 3 * self.Y.nbytes  # Y, X and TX: Dask leaves large results where they are

    @contextmanager
    def transformed(self, matrices: Chain) -> Iterator[None]:
        """Make X that of a chain, from what is remembered, until the context ends."""
        with self._lock, self.shard.computing():
            names, before = list(matrices), self._names
            self._names = []  # nothing is remembered if this is interrupted
            if not before or names[: len(before)] != before:
                self.rotate(own(matrices[names[0]])) if names else self.rest()
                before = names[:1]
            for name in names[len(before) :]:
                T = self.trial if name == self.trial_name else None
                self.move(own(matrices[name]) if T is None else T)
            self._names = names
            yield


def own(value: Any) -> Any:
    """Copy arrays that came over the network: they are read-only and not aligned.

    BLAS and Numba might sum such an array in another order.
    """
    if isinstance(value, PowerModel):
        return PowerModel(own(value.frames), own(value.Wt))
    return value.copy(order="K") if isinstance(value, np.ndarray) else value


def frames_from(
    pieces: list[Array], shard: Shard, expected: dict[str, str], device: Device
) -> FramesOnWorker:
    """Join pieces (C, M, …) of the frames of a shard, and hold them on a device, if one is named.

    The processor has two names: frames on "cpu" are arrays of NumPy, those on "cpu:0" tensors.
    """
    check_versions(expected)
    if device is not None and str(device) != "cpu":
        shard = TensorShard(device, shard)
    C, M = pieces[0].shape[:2]
    Y = room_for_frames((C, sum(p.shape[2] for p in pieces), M), pieces[0].dtype)
    np.concatenate([p.transpose(0, 2, 1) for p in pieces], axis=1, out=Y)
    return FramesOnWorker(shard, Y)


def converted(frames: FramesOnWorker, dtype: DTypeLike, atoms: Array | None) -> FramesOnWorker:
    """Return the frames in another precision, or their products with atoms (P, M)."""
    with frames.transformed({}):  # frees X
        Y = cast(frames.Y, dtype)
        if atoms is not None:
            Y = frames.shard.rotated(Y, np.asfortranarray(atoms, dtype))
    return FramesOnWorker(frames.shard, Y)


def sample(frames: FramesOnWorker, numbers: Indices, dtype: DTypeLike) -> Array:
    """(C, n, M): frames by their numbers in the shard."""
    with frames.transformed({}):  # frees X
        return to_numpy(frames.Y[:, indices(numbers, frames.Y)]).astype(dtype)


def powers(frames: FramesOnWorker) -> Array:
    """(n,): mean power of each frame."""
    return frames.shard.powers(frames.Y)


def activation_sums(frames: FramesOnWorker, H: Array) -> Nodes:
    """(K,): H1."""
    with frames.shard.computing():
        return frames.shard.activation_sums(own(H))


def call(
    frames: FramesOnWorker, matrices: Chain, method: Callable[..., Any], *arguments: Any
) -> Any:
    """Return what a method of the shard returns for X and arguments."""
    with frames.transformed(matrices):
        return getattr(frames.shard, method.__name__)(frames.X, *map(own, arguments))


def evaluate(
    frames: FramesOnWorker, matrices: Chain, trial: Chain, model: PowerModel, eps: float
) -> Nodes:
    """Loss and C times the gradient at TX, which is remembered; `trial` is T by its key."""
    ((name, T),) = trial.items()
    with frames.transformed(matrices):
        T, TX = own(T), frames.trial_memory()
        nodes = frames.shard.evaluate(frames.X, own(model), eps, T, TX)
        frames.trial, frames.trial_name = T, name
        return nodes
