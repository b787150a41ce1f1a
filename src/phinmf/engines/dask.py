"""Frames on the workers of a Dask cluster: more than one machine.

* A task is a pure function of its arguments, and each of these is a future of another task or part
  of the task. So the scheduler computes again what is lost with a worker, with the same bits.
* A call is one message with a task for each shard. All that it depends on, unless it is large, is
  part of it or already on the worker that has the frames: no worker waits for another one.
* The activations H of a shard are a future, and factors that the next task multiplies them by; an
  update makes a new one from it.
* X of a shard is the product of Y with the matrices Φ, T₁, T₂, … of the `chain`, one after the
  other as in memory. A worker remembers the last X and the last trial point TX; what it has
  forgotten it computes again.
* Sums come back as nodes of the tree of `compiled/summation.py`, and are added in its order.
"""

from __future__ import annotations

import copy
import operator
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
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

Rows: TypeAlias = list[Any]  #: (n, …) of a shard, and factors (…) to multiply each row by


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
        self.frames = []
        for shard, address in zip(self.shards, threads, strict=False):
            arguments = self._pieces(Y[:, :, shard.frames]), shard, versions(), device
            self.frames.append(self.cluster.submit(frames_from, *arguments, address=address))
        self._clear()

    def _pieces(self, Y: AnyArray) -> list[Future]:
        """Return futures of frames: chunks (C, M, …) of a dask array, or one of an array in memory.

        Any worker may compute them: Dask does not begin a task that depends on no other one if the
        workers that it was meant for are lost, though others are allowed.
        """
        if lazy.is_lazy(Y):
            return list(self.cluster.client.compute(chunks(Y)))
        return [self.cluster.submit(np.asarray, self.cluster.send(Y))]

    def _clear(self) -> None:
        """Begin without a transform, activations and a model."""
        #: Φ, T₁, T₂, … of X on the worker of each shard; empty: X = Y
        self.chain: list[list[Future]] = [[] for _ in self.shards]
        self.H: list[Rows] = []  #: (n, K) of each shard
        self.n_components = 0
        #: the last model of `objective_of`, and its rows of each shard
        self.V_hat: tuple[Array | None, list[Rows]] = (None, [])
        self.nodes: list[Future] = []  #: the last sums

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
            samples = self.cluster.results(self.call(FramesOnWorker.sample, places, dtype))
            Y = np.concatenate(samples, axis=1).transpose(0, 2, 1)
            followed = links_among(frames, self.links)
            return CompiledEngine(Y, self.divergence, None, weights, followed, self.workers, atoms)
        engine = copy.copy(self)
        engine._clear()
        engine.dtype, engine.shape = np.dtype(dtype), (C, M if atoms is None else len(atoms), N)
        rows = None if atoms is None else self.cluster.send(atoms)
        engine.frames = self.call(FramesOnWorker.converted, dtype, rows)
        return engine

    # tasks

    def each(self, task: Callable[..., Any], *arguments: Any) -> list[Future]:
        """Return the future of a task for each shard, which gets its item of every list.

        It runs where the frames of the shard are: they are larger than all else.
        """
        n = len(self.shards)
        columns = [a if isinstance(a, list) else [a] * n for a in arguments]
        return self.cluster.map(task, self.frames, *columns)

    def call(self, method: Callable[..., Any], *arguments: Any) -> list[Future]:
        """Return the future of what a method of each shard's frames returns."""
        return self.each(call, self.chain, method, *arguments)

    def total(self, nodes: list[Future]) -> list[Any]:
        """Add up the nodes of all shards, in their order.

        Futures are released after the next call: a release is a message to the scheduler, and the
        message after it waits for 10 ms.
        """
        self.nodes = nodes
        n = sum(len(shard.blocks) for shard in self.shards)
        return list(map(own, total(n, chain.from_iterable(self.cluster.results(nodes)))))

    # the transform

    def rest(self) -> None:
        self.chain = [[] for _ in self.shards]  # workers free X when they convert or sample Y

    def rotate(self, Phi: Array) -> None:
        self.chain = [[future] for future in self.each(copied, self.cluster.send(Phi))]
        if self.H:  # what a lost worker would have to repeat begins here
            self.set_activations(self.activations())

    # values for each frame

    def powers(self) -> Array:
        return np.concatenate(self.cluster.results(self.call(FramesOnWorker.powers)))

    def energies(self) -> Array:
        (energies,) = self.total(self.call(FramesOnWorker.of_X, Shard.energies))
        return np.asarray(energies / self.shape[0])

    def gather(self, H: list[Rows]) -> Array:
        """Return activations (K, N) from those of each shard."""
        arrays = self.cluster.results([rows[0] for rows in H])
        scaled = [own([array, *rows[1:]]) for array, rows in zip(arrays, H, strict=True)]
        return np.concatenate(scaled).T

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

    def _rows(self, A: Array) -> list[Rows]:
        """Send the columns of an array (…, N) to the shards that they belong to, as rows."""
        parts = [A[:, shard.frames].T.astype(self.dtype) for shard in self.shards]
        return [[future] for future in self.each(copied, list(map(self.cluster.send, parts)))]

    def scale_activations(self, s: Array) -> None:
        self.H = [[*rows, s.copy()] for rows in self.H]

    def activation_sums(self) -> Array:
        return np.asarray(self.total(self.call(FramesOnWorker.activation_sums, self.H))[0])

    def nmf_pass(self, W: Array, penalty: Penalty, eps: float, gamma: float) -> DictionarySums:
        rates = np.full(W.shape[1], penalty.sparsity if gamma else 0.0)
        arguments = self.cluster.send(W), rates, eps, gamma
        pairs = self.call(FramesOnWorker.of_X, Shard.nmf_pass, self.H, *arguments)
        nodes, H = (self.cluster.map(operator.itemgetter(i), pairs) for i in (1, 0))
        del pairs  # now, and not before the next call: see `total`
        self.H = [[future] for future in H]
        numerator, denominator, activation = self.total(nodes)
        return DictionarySums(numerator.T, denominator.T, activation)

    def converge_activations(
        self, W: Array, penalty: Penalty, eps: float, tol: float, max_updates: int
    ) -> None:
        arguments = self.H, self.cluster.send(W), penalty.sparsity, eps, tol, max_updates
        futures = self.call(FramesOnWorker.of_X, Shard.converged_activations, *arguments)
        self.H = [[future] for future in futures]

    def objective(self, W: Array, eps: float) -> Objective:
        return DaskObjective(self, self.H, self.cluster.send(contiguous(W.T)), eps)

    def objective_of(self, V_hat: Array, eps: float) -> Objective:
        if self.V_hat[0] is not V_hat:
            self.V_hat = V_hat, self._rows(V_hat)
        return DaskObjective(self, self.V_hat[1], None, eps)


class DaskObjective(ShardsObjective):
    """The model of the power is H or V̂ of each shard, and Wᵀ or nothing."""

    def __init__(
        self, engine: DaskEngine, rows: list[Rows], Wt: Array | Future | None, eps: float
    ) -> None:
        self.engine, self.algebra, self.n_channels = engine, engine.algebra, engine.shape[0]
        self.model = rows, Wt, eps
        #: the last T that was evaluated, and the futures of its copies
        self._trial: tuple[Array | None, list[Future]] = (None, [])

    def sums(self, method: Callable[..., Nodes], *arguments: object) -> list[Any]:
        nodes = self.engine.call(FramesOnWorker.of_model, *self.model, method, *arguments)
        return self.engine.total(nodes)

    def evaluate(self, T: Array | None = None) -> Evaluation:
        self.evaluations += 1
        if T is None:
            return self.evaluation(self.sums(Shard.evaluate))
        engine, T_sent = self.engine, self.engine.cluster.send(T)
        nodes = engine.call(FramesOnWorker.evaluate, *self.model, T_sent)
        self._trial = T, engine.each(copied, T_sent)  # which travel while workers compute
        return self.evaluation(engine.total(nodes))

    def move(self, T: Array) -> None:
        self._bound = None
        engine, (trial, copies) = self.engine, self._trial
        if trial is not T:
            copies = engine.each(copied, engine.cluster.send(T))
        engine.chain = [[*Ts, T] for Ts, T in zip(engine.chain, copies, strict=True)]


# what workers compute


class FramesOnWorker(FramesInMemory):
    """The frames of a shard on a worker, with the last X and TX, which are not sent elsewhere."""

    def __init__(self, shard: Shard, Y: Array) -> None:
        """Hold frames (C, n, M)."""
        super().__init__(shard, shard.placed(Y))
        self._matrices: list[Array] = []  #: whose product with Y is X
        self._lock = threading.Lock()  # after Ctrl-C a task may run beside those of the next call

    def __reduce__(self) -> tuple[Any, ...]:
        Y = to_numpy(self.Y).transpose(0, 2, 1)
        return frames_from, ([Y], self.shard, versions(), None)

    def __sizeof__(self) -> int:
        return 3 * self.Y.nbytes  # Y, X and TX: Dask leaves large results where they are

    @contextmanager
    def transformed(self, matrices: list[Array]) -> Iterator[None]:
        """Make X = … T₂T₁ΦY, from what is remembered, until the context ends."""
        with self._lock, self.shard.computing():
            before, self._matrices = self._matrices, []  # nothing, if this is interrupted
            if not before or list(map(id, before)) != list(map(id, matrices[: len(before)])):
                self.rotate(own(matrices[0])) if matrices else self.rest()
                before = matrices[:1]
            for T in matrices[len(before) :]:
                trial = self.trial
                self.move(own(T) if trial is None or not np.array_equal(trial, T) else trial)
            self._matrices = matrices
            yield

    # what is computed in this context

    def of_X(self, method: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a method of the shard returns for X and arguments."""
        return getattr(self.shard, method.__name__)(self.X, *arguments)

    def of_model(
        self, rows: Array, Wt: Array | None, eps: float, method: Callable[..., Nodes], *rest: Any
    ) -> Nodes:
        """Return what a method of the shard returns for X, the model of its power and the rest."""
        return self.of_X(method, PowerModel(rows, Wt), eps, *rest)

    def evaluate(self, rows: Array, Wt: Array | None, eps: float, T: Array) -> Nodes:
        """Loss and C times the gradient at TX, which is remembered."""
        nodes = self.of_model(rows, Wt, eps, Shard.evaluate, T, self.trial_memory())
        self.trial = T
        return nodes

    def activation_sums(self, H: Array) -> Nodes:
        """(K,): H1."""
        return self.shard.activation_sums(H)

    def powers(self) -> Array:
        """(n,): mean power of each frame."""
        return self.shard.powers(self.Y)

    def sample(self, numbers: Indices, dtype: DTypeLike) -> Array:
        """(C, n, M): frames by their numbers in the shard."""
        return to_numpy(self.Y[:, indices(numbers, self.Y)]).astype(dtype)

    def converted(self, dtype: DTypeLike, atoms: Array | None) -> FramesOnWorker:
        """Return the frames in another precision, or their products with atoms (P, M)."""
        Y = cast(self.Y, dtype)
        if atoms is not None:
            Y = self.shard.rotated(Y, np.asfortranarray(atoms, dtype))
        return FramesOnWorker(self.shard, Y)


def own(value: Any) -> Any:
    """Copy arrays that came over the network, and multiply rows by their factors.

    Such arrays are read-only and not aligned: BLAS and Numba might sum them in another order.
    """
    if isinstance(value, list):
        return reduce(np.multiply, map(own, value))
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


def copied(frames: FramesOnWorker, array: Array) -> Array:
    """Return an array, on the worker that has the frames."""
    return array


def call(
    frames: FramesOnWorker, matrices: list[Array], method: Callable[..., Any], *arguments: Any
) -> Any:
    """Return what a method of the frames returns for X = …T₂T₁ΦY and arguments."""
    with frames.transformed(matrices):
        return method(frames, *map(own, arguments))
