"""Frames on the workers of a Dask cluster: more than one machine.

* A task is a pure function of its arguments, and each of these is a future of another task or part
  of the task. So the scheduler computes again what is lost with a worker, with the same bits.
* The activations H of a shard are a future; an update makes a new one from it.
* X of a shard is the product of Y with the matrices Φ, T₁, T₂, … of the `chain`, one after the
  other as in memory. A worker remembers the last X and the last trial point TX; what it has
  forgotten it computes again.
* Sums come back as nodes of the tree of `compiled/summation.py`, and are added in its order.
* A list among the arguments of `DaskEngine.futures` has an item for each shard.
"""

from __future__ import annotations

import copy
import operator
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

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
    LazyActivations,
    Objective,
    as_array,
    links_among,
    links_of,
)
from phinmf.engines.compiled.engine import CompiledEngine, ShardsObjective
from phinmf.engines.compiled.frames import FramesInMemory
from phinmf.engines.compiled.shard import (
    Factors,
    Nodes,
    PowerModel,
    Shard,
    contiguous,
    shards_of,
)
from phinmf.engines.compiled.summation import total
from phinmf.engines.tensor_shard import TensorShard
from phinmf.linalg.algebra import Algebra

Chain = dict[str, Array]  #: Φ, T₁, T₂, … by the keys of their futures


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
            raise ValueError(
                "engine is 'dask', but there is no cluster to compute on: make a"
                " distributed.Client first, or leave engine out"
            )
        self.cluster = Cluster(client)
        self.shape, self.dtype, self.divergence = tuple(Y.shape), Y.dtype, divergence
        N = self.shape[2]
        self.weights = np.ones(N) if weights is None else weights
        self.links = links_of(self.weights, links)
        self.workers = Workers(n_threads)
        self.algebra = Algebra(self.workers)
        self.chain: list[Future] = []  #: Φ, T₁, T₂, … of X; empty: X = Y
        self.H: list[Future] = []  #: (n, K) of each shard
        self.n_components = 0
        self.V_hat: tuple[Array | None, list[Future]] = (None, [])  #: a given model, and its rows
        threads = self.cluster.threads()
        self.shards = shards_of(self.weights, divergence, Workers(1), len(threads))
        self.addresses = threads[: len(self.shards)]  #: of the workers that get the frames first
        self.frames = [
            self.cluster.submit(
                frames_from, self._pieces(Y, shard.frames), shard, versions(), device,
                address=address,
            )
            for shard, address in zip(self.shards, self.addresses, strict=True)
        ]  #: of each shard  # fmt: skip

    def _pieces(self, Y: AnyArray, frames: slice) -> list[Future]:
        """Return futures of frames: chunks (C, M, …) of a dask array, or one of an array in memory.

        Any worker may compute them: Dask does not begin a task that depends on no other one if the
        workers that it was meant for are lost, though others are allowed.
        """
        Y = Y[:, :, frames]
        if lazy.is_lazy(Y):
            return list(self.cluster.client.compute(chunks(Y)))
        return [self.cluster.send(Y)]

    def __enter__(self) -> DaskEngine:
        self.workers.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.frames, self.H, self.chain, self.V_hat = [], [], [], (None, [])
        self.workers.__exit__()

    def subset(
        self, frames: Indices | slice, dtype: DTypeLike, weights: Array, atoms: Array | None = None
    ) -> Engine:
        """Leave all frames where they are, or take a sample of them into this process."""
        numbers = np.arange(self.shape[2])[frames]  # in order
        if len(numbers) < self.shape[2]:
            edges = np.searchsorted(numbers, [s.frames.stop for s in self.shards[:-1]])
            of_shards = zip(np.split(numbers, edges), self.shards, strict=True)
            places = [part - shard.frames.start for part, shard in of_shards]
            Y = np.concatenate(self._results(sample, places, dtype), axis=1).transpose(0, 2, 1)
            followed = links_among(frames, self.links)
            return CompiledEngine(Y, self.divergence, None, weights, followed, self.workers, atoms)
        C, M, N = self.shape
        engine = copy.copy(self)
        engine.dtype, engine.shape = np.dtype(dtype), (C, M if atoms is None else len(atoms), N)
        engine.chain, engine.H, engine.V_hat = [], [], (None, [])
        rows = None if atoms is None else self.cluster.send(atoms)
        engine.frames = self.futures(converted, dtype, rows)
        return engine

    # tasks

    def futures(self, task: Callable[..., Any], *arguments: Any) -> list[Future]:
        """Return the futures of a task of every shard.

        Its first argument is the frames of the shard. Of a list it gets the item of the shard.
        """
        return [
            self.cluster.submit(
                task, frames, *(a[i] if isinstance(a, list) else a for a in arguments),
                address=self.addresses[i],
            )
            for i, frames in enumerate(self.frames)
        ]  # fmt: skip

    def _results(self, task: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return the results of such tasks."""
        return self.cluster.results(self.futures(task, *arguments))

    def sums(self, task: Callable[..., Nodes], *arguments: Any) -> list[Any]:
        """Add up the nodes that a task of every shard returns."""
        return self._added(self._results(task, *arguments))

    def _added(self, nodes: list[Nodes]) -> list[Any]:
        """Add up the nodes of all shards, in the order of their blocks."""
        return total(self.shards[0].n_blocks, chain.from_iterable(nodes))

    @property
    def matrices(self) -> dict[str, Future]:
        """The chain by keys, which become a `Chain` on the worker."""
        return {future.key: future for future in self.chain}

    # the transform

    def rest(self) -> None:
        self.chain = []
        self._results(forget_transform)  # others need the memory now

    def rotate(self, Phi: Array) -> None:
        self.chain = [self.cluster.send(Phi)]
        if self.H:  # what a lost worker would have to repeat begins here
            self.set_activations(self.activations())

    # values for each frame

    def powers(self) -> Array:
        return np.concatenate(self._results(powers))

    def energies(self) -> Array:
        return np.asarray(self.sums(call, self.matrices, Shard.energies)[0] / self.shape[0])

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
        self.H = [self.cluster.submit(scaled, H, s) for H in self.H]

    def activation_sums(self) -> Array:
        return np.asarray(self.sums(activation_sums, self.H)[0])

    def nmf_pass(self, W: Array, penalty: Penalty, eps: float, gamma: float) -> DictionarySums:
        rates = np.full(W.shape[1], penalty.sparsity if gamma else 0.0)
        arguments = self.H, self.cluster.send(W), rates, eps, gamma
        pairs = self.futures(call, self.matrices, Shard.nmf_pass, *arguments)
        H, nodes = (
            [self.cluster.submit(operator.itemgetter(i), pair) for pair in pairs] for i in (0, 1)
        )
        numerator, denominator, activation = self._added(self.cluster.results(nodes))
        if gamma:
            self.H = H
        return DictionarySums(numerator.T, denominator.T, activation)

    def converge_activations(
        self, W: Array, penalty: Penalty, eps: float, tol: float, max_updates: int
    ) -> None:
        arguments = self.H, self.cluster.send(W), penalty.sparsity, eps, tol, max_updates
        self.H = self.futures(call, self.matrices, Shard.converged_activations, *arguments)

    def roughness(self) -> float:
        raise NotImplementedError("activations on a cluster are not smoothed")

    def objective(self, W: Array, eps: float) -> Objective:
        models = self.futures(model_of_power, self.H, self.cluster.send(W))
        return DaskObjective(self, models, eps)

    def objective_of(self, V_hat: Array, eps: float) -> Objective:
        if self.V_hat[0] is not V_hat:
            self.V_hat = V_hat, self._rows(V_hat)
        return DaskObjective(self, self.V_hat[1], eps)


class DaskObjective(ShardsObjective):
    """Every shard has a model of its power, which is a future."""

    def __init__(self, engine: DaskEngine, models: list[Future], eps: float) -> None:
        super().__init__(engine, eps)
        self.engine, self.models = engine, models
        self._trial: tuple[Array | None, Future] = (None, None)  #: the last T that was evaluated

    def sums(self, method: Callable[..., Nodes], *arguments: object) -> list[Any]:
        arguments = (method, self.models, self.eps, *arguments)
        return self.engine.sums(call, self.engine.matrices, *arguments)

    def sums_at(self, T: Array | None) -> list[Any]:
        if T is None:
            return self.sums(Shard.evaluate)
        future = self.engine.cluster.send(T)
        self._trial = T, future
        arguments = {future.key: future}, self.models, self.eps
        return self.engine.sums(evaluate, self.engine.matrices, *arguments)

    def move(self, T: Array) -> None:
        super().move(T)
        trial, future = self._trial
        if trial is not T:
            future = self.engine.cluster.send(T)
        self.engine.chain = [*self.engine.chain, future]


# what workers compute


class FramesOnWorker:
    """The frames of a shard on a worker, with the last X and TX, which are not sent elsewhere."""

    def __init__(self, shard: Shard, Y: Array) -> None:
        """Hold frames (C, n, M)."""
        self.shard, self.Y = shard, shard.placed(Y)
        self._frames = FramesInMemory(shard, self.Y)
        self._names: list[str] = []  #: keys of the matrices whose product with Y is X
        self.trial = ""  #: the key of the T whose TX is the trial point
        self._lock = threading.Lock()  # after Ctrl-C a task may run beside those of the next call

    def __reduce__(self) -> tuple[Any, ...]:
        return received, (self.shard, to_numpy(self.Y))

    def __sizeof__(self) -> int:
        return 3 * self.Y.nbytes  # Y, X and TX: Dask leaves large results where they are

    @contextmanager
    def transformed(self, matrices: Chain) -> Iterator[FramesInMemory]:
        """Hand out the frames with X of a chain, computed from what is remembered."""
        with self._lock, self.shard.computing():
            names, before = list(matrices), self._names
            self._names = []  # nothing is remembered if this is interrupted
            if not before or names[: len(before)] != before:
                self._frames.rest() if not names else self._frames.rotate(own(matrices[names[0]]))
                before, self.trial = names[:1], ""
            for name in names[len(before) :]:
                T = self._frames.trial if name == self.trial else None
                self._frames.move(own(matrices[name]) if T is None else T)
                self.trial = ""
            self._names = names
            yield self._frames


def own(value: Any) -> Any:
    """Copy arrays that came over the network: they are read-only and not aligned.

    BLAS and Numba might sum such an array in another order.
    """
    if isinstance(value, Factors):
        return Factors(*map(own, value))
    return value.copy(order="K") if isinstance(value, np.ndarray) else value


def received(shard: Shard, Y: Array) -> FramesOnWorker:
    """Return frames that came from another worker."""
    memory = room_for_frames(Y.shape, Y.dtype)
    memory[...] = Y
    return FramesOnWorker(shard, memory)


def frames_from(
    pieces: list[Array], shard: Shard, expected: dict[str, str], device: Device
) -> FramesOnWorker:
    """Join pieces (C, M, …) of the frames of a shard, and hold them on a device, if one is named.

    The processor has two names: frames on "cpu" are arrays of NumPy, those on "cpu:0" tensors.
    """
    check_versions(expected)
    if device is not None and str(device) != "cpu":
        shard = TensorShard(device, *shard.__reduce__()[1])
    C, M = pieces[0].shape[:2]
    Y = room_for_frames((C, sum(p.shape[2] for p in pieces), M), pieces[0].dtype)
    np.concatenate([p.transpose(0, 2, 1) for p in pieces], axis=1, out=Y)
    return FramesOnWorker(shard, Y)


def converted(frames: FramesOnWorker, dtype: DTypeLike, atoms: Array | None) -> FramesOnWorker:
    """Return the frames in another precision, or their products with atoms (P, M)."""
    Y = cast(frames.Y, dtype)
    with frames.shard.computing():
        if atoms is not None:
            Y = frames.shard.rotated(Y, np.asfortranarray(atoms, dtype))
    return FramesOnWorker(frames.shard, Y)


def sample(frames: FramesOnWorker, numbers: Indices, dtype: DTypeLike) -> Array:
    """(C, n, M): frames by their numbers in the shard."""
    return to_numpy(frames.Y[:, indices(numbers, frames.Y)]).astype(dtype)


def forget_transform(frames: FramesOnWorker) -> None:
    """Free the memory of X and of the trial point."""
    with frames.transformed({}):
        pass


def powers(frames: FramesOnWorker) -> Array:
    """(n,): mean power of each frame."""
    return frames.shard.powers(frames.Y)


def scaled(H: Array, s: Array) -> Array:
    """(n, K): s_k h_k."""
    return (H * s).astype(H.dtype)


def activation_sums(frames: FramesOnWorker, H: Array) -> Nodes:
    """(K,): H1."""
    with frames.shard.computing():
        return frames.shard.activation_sums(own(H))


def model_of_power(_: FramesOnWorker, H: Array, W: Array) -> Factors:
    """Return the model WH, on the worker that has the frames."""
    return Factors(H, contiguous(W.T))


def call(
    frames: FramesOnWorker, matrices: Chain, method: Callable[..., Any], *arguments: Any
) -> Any:
    """Return what a method of the shard, as its class defines it, returns for X and arguments."""
    with frames.transformed(matrices) as current:
        return getattr(frames.shard, method.__name__)(current.X, *map(own, arguments))


def evaluate(
    frames: FramesOnWorker, matrices: Chain, trial: Chain, model: PowerModel, eps: float
) -> Nodes:
    """Loss and C times the gradient at TX, which is remembered; `trial` is T by its key."""
    ((name, T),) = trial.items()
    with frames.transformed(matrices) as current:
        frames.trial, T = "", own(T)
        nodes = frames.shard.evaluate(current.X, own(model), eps, T, current.trial_memory())
        frames.trial, current.trial = name, T
        return nodes
