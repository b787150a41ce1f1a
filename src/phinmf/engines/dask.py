"""Frames on the workers of a Dask cluster: more than one machine.

* A task is a pure function of its arguments, and each of these is a future of another task or part
  of the task. So the scheduler computes again what is lost with a worker, with the same bits.
* The activations H of a shard are a future; an update makes a new one from it.
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
from itertools import chain
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import AnyArray, Array, Indices, Mask
from phinmf.arrays import lazy, room_for_frames
from phinmf.arrays.cluster import PIECE, Cluster, Future, check_versions, chunks, versions
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
    links_of,
)
from phinmf.engines.compiled.engine import CompiledEngine
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
    ) -> None:
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
        self.H_is_sent = True  #: whether they are as they were sent, and not results of updates
        self.n_components = 0
        self.V_hat: tuple[Array | None, list[Future]] = (None, [])  #: a given model, and its rows
        threads = self.cluster.threads()
        self.shards = shards_of(self.weights, divergence, Workers(1), len(threads))
        self.addresses = threads[: len(self.shards)]  #: of the workers that get the frames first
        self.frames = [
            self.cluster.submit(
                frames_from, self._pieces(Y, shard.frames), shard, versions(), address=address
            )
            for shard, address in zip(self.shards, self.addresses, strict=True)
        ]  #: of each shard

    def _pieces(self, Y: AnyArray, frames: slice) -> list[Future]:
        """Return futures (C, M, …) of frames: chunks of a dask array, or of an array in memory.

        Any worker may compute them: Dask does not begin a task that depends on no other one if the
        workers that it was meant for are lost, though others are allowed.
        """
        Y = Y[:, :, frames]
        if lazy.is_lazy(Y):
            return list(self.cluster.client.compute(chunks(Y)))
        C, M, n = Y.shape
        step = max(1, PIECE // (C * M * Y.itemsize))
        rows = [Y[:, :, i : i + step].transpose(0, 2, 1) for i in range(0, n, step)]
        return [self.cluster.submit(frames_of, np.array(r)) for r in rows]

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
        numbers = np.arange(self.shape[2])[frames]
        if len(numbers) < self.shape[2]:
            Y = np.empty((self.shape[0], len(numbers), self.shape[1]), dtype)
            inside = [(numbers >= s.frames.start) & (numbers < s.frames.stop) for s in self.shards]
            parts = self._results(
                lambda i: (sample, numbers[inside[i]] - self.shards[i].frames.start, dtype)
            )
            for mask, part in zip(inside, parts, strict=True):
                Y[:, mask] = part
            return CompiledEngine(
                Y.transpose(0, 2, 1), self.divergence, None, weights,
                links_among(frames, self.links), self.workers, atoms,
            )  # fmt: skip
        C, M, N = self.shape
        engine = copy.copy(self)
        engine.dtype, engine.shape = np.dtype(dtype), (C, M if atoms is None else len(atoms), N)
        engine.chain, engine.H, engine.V_hat = [], [], (None, [])
        rows = None if atoms is None else self.cluster.send(atoms)
        engine.frames = self._futures(lambda _: (converted, dtype, rows))
        return engine

    # tasks

    def _futures(self, call: Callable[[int], tuple[Any, ...]]) -> list[Future]:
        """Return the futures of a task of every shard; `call` returns it and its arguments.

        The first argument is the frames of the shard, the others come from `call`.
        """
        calls = [call(i) for i in range(len(self.frames))]
        return [
            self.cluster.submit(task, frames, *args, address=address)
            for frames, address, (task, *args) in zip(
                self.frames, self.addresses, calls, strict=True
            )
        ]

    def _results(self, call: Callable[[int], tuple[Any, ...]]) -> list[Any]:
        """Return the results of such tasks."""
        return self.cluster.results(self._futures(call))

    def sums(self, call: Callable[[int], tuple[Any, ...]]) -> list[Any]:
        """Add up the nodes that a task of every shard returns."""
        return self.added(self._results(call))

    def added(self, nodes: list[Nodes]) -> list[Any]:
        """Add up the nodes of all shards, in the order of their blocks."""
        return total(self.shards[0].n_blocks, chain.from_iterable(nodes))

    @property
    def matrices(self) -> dict[str, Future]:
        """The chain by keys, which become a `Chain` on the worker."""
        return {future.key: future for future in self.chain}

    # the transform

    def rest(self) -> None:
        self.chain = []
        self._results(lambda _: (forget_transform,))  # others need the memory now

    def rotate(self, Phi: Array) -> None:
        self.chain = [self.cluster.send(Phi)]
        if not self.H_is_sent:  # what a lost worker would have to repeat begins here
            self.set_activations(self.activations())

    # values for each frame

    def powers(self) -> Array:
        return np.concatenate(self._results(lambda _: (powers,)))

    def energies(self) -> Array:
        return np.asarray(
            self.sums(lambda _: (shard_method, self.matrices, Shard.energies))[0] / self.shape[0]
        )

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
            self.H, self.H_is_sent = H.futures, False
            return
        self.H, self.H_is_sent = self._rows(as_array(H)), True

    def _rows(self, A: Array) -> list[Future]:
        """Return futures (n, …) of the columns of an array (…, N) that belong to each shard."""
        return [self.cluster.send(A[:, s.frames].T.astype(self.dtype)) for s in self.shards]

    def _set_updated(self, H: list[Future]) -> None:
        self.H, self.H_is_sent = H, False

    def scale_activations(self, s: Array) -> None:
        self._set_updated([self.cluster.submit(scaled, H, s) for H in self.H])

    def activation_sums(self) -> Array:
        return np.asarray(self.sums(lambda i: (activation_sums, self.H[i]))[0])

    def nmf_pass(self, W: Array, penalty: Penalty, eps: float, gamma: float) -> DictionarySums:
        rates = np.full(W.shape[1], penalty.sparsity if gamma else 0.0)
        sent, submit = self.cluster.send(W), self.cluster.submit
        numbers = rates, eps, gamma
        pairs = self._futures(
            lambda i: (shard_method, self.matrices, Shard.nmf_pass, self.H[i], sent, *numbers)
        )
        updated, nodes = ([submit(operator.itemgetter(k), p) for p in pairs] for k in (0, 1))
        numerator, denominator, activation = self.added(self.cluster.results(nodes))
        if gamma:
            self._set_updated(updated)
        return DictionarySums(numerator.T, denominator.T, activation)

    def converge_activations(
        self, W: Array, penalty: Penalty, eps: float, tol: float, max_updates: int
    ) -> None:
        sent, numbers = self.cluster.send(W), (penalty.sparsity, eps, tol, max_updates)
        method = Shard.converged_activations
        self._set_updated(
            self._futures(
                lambda i: (shard_method, self.matrices, method, self.H[i], sent, *numbers)
            )
        )

    def roughness(self) -> float:
        raise NotImplementedError("activations on a cluster are not smoothed")

    def objective(self, W: Array, eps: float) -> Objective:
        return DaskObjective(self, eps, self.H, W)

    def objective_of(self, V_hat: Array, eps: float) -> Objective:
        if self.V_hat[0] is not V_hat:
            self.V_hat = V_hat, self._rows(V_hat)
        return DaskObjective(self, eps, self.V_hat[1])


class DaskObjective(Objective):
    """The model of the power is WH, or without W given rows V̂ (n, M) of each shard."""

    def __init__(
        self, engine: DaskEngine, eps: float, rows: list[Future], W: Array | None = None
    ) -> None:
        self.engine, self.algebra, self.eps, self.rows = engine, engine.algebra, eps, rows
        self.W = None if W is None else engine.cluster.send(W)
        self._trial: tuple[Array | None, Future] = (None, None)  #: the last T that was evaluated
        self._bound: Array | None = None  #: what `bound` returns, if `curvature` has computed it

    def _sums(self, task: Callable[..., Nodes], *args: Any) -> list[Any]:
        """Add up what a task of the model of every shard returns."""
        engine = self.engine
        return engine.sums(lambda i: (task, engine.matrices, self.rows[i], self.W, self.eps, *args))

    def evaluate(self, T: Array | None = None) -> Evaluation:
        self.evaluations += 1
        trial: dict[str, Future] = {}
        if T is not None:
            future = self.engine.cluster.send(T)
            self._trial, trial = (T, future), {future.key: future}
        loss, G = self._sums(evaluate, trial)
        G /= G.dtype.type(self.engine.shape[0])
        return Evaluation(loss, G)

    def loss(self) -> float:
        return float(self._sums(model_method, Shard.loss)[0])

    def move(self, T: Array) -> None:
        self._bound = None
        trial, future = self._trial
        if trial is not T:
            future = self.engine.cluster.send(T)
        self.engine.chain = [*self.engine.chain, future]

    def bound(self) -> Array:
        bound, self._bound = self._bound, None
        return self._sums(model_method, Shard.curvature, False)[0] if bound is None else bound

    def curvature(self) -> Array:
        exact, self._bound = self._sums(model_method, Shard.curvature, True)  # solvers ask for both
        return exact


# what workers compute


class FramesOnWorker:
    """The frames of a shard on a worker, with the last X and TX, which are not sent elsewhere."""

    def __init__(self, shard: Shard, Y: Array) -> None:
        """Hold frames (C, n, M)."""
        self.shard, self.Y = shard, Y
        self._frames = FramesInMemory(shard, Y)
        self._names: list[str] = []  #: keys of the matrices whose product with Y is X
        self.trial = ""  #: the key of the T whose TX is the trial point
        self._lock = threading.Lock()  # after Ctrl-C a task may run beside those of the next call

    def __reduce__(self) -> tuple[Any, ...]:
        return received, (self.shard, self.Y)

    def __sizeof__(self) -> int:
        return 3 * self.Y.nbytes  # Y, X and TX: Dask leaves large results where they are

    @contextmanager
    def transformed(self, matrices: Chain) -> Iterator[FramesInMemory]:
        """Hand out the frames with X of a chain, computed from what is remembered."""
        with self._lock, self.shard.workers:
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

    def forget(self) -> None:
        """Free the memory of X and TX."""
        with self._lock:
            self._names, self.trial = [], ""
            self._frames.rest()


def own(A: Array) -> Array:
    """Copy an array that came over the network: it is read-only and not aligned.

    BLAS and Numba might sum such an array in another order.
    """
    return A.copy(order="K")


def received(shard: Shard, Y: Array) -> FramesOnWorker:
    """Return frames that came from another worker."""
    memory = room_for_frames(Y.shape, Y.dtype)
    memory[...] = Y
    return FramesOnWorker(shard, memory)


def frames_of(rows: Array) -> Array:
    """Return frames (C, M, n) from rows (C, n, M)."""
    return rows.transpose(0, 2, 1)


def frames_from(pieces: list[Array], shard: Shard, expected: dict[str, str]) -> FramesOnWorker:
    """Join pieces (C, M, …) of the frames of a shard."""
    check_versions(expected)
    C, M = pieces[0].shape[:2]
    Y = room_for_frames((C, sum(p.shape[2] for p in pieces), M), pieces[0].dtype)
    np.concatenate([p.transpose(0, 2, 1) for p in pieces], axis=1, out=Y)
    return FramesOnWorker(shard, Y)


def converted(frames: FramesOnWorker, dtype: DTypeLike, atoms: Array | None) -> FramesOnWorker:
    """Return the frames in another precision, or their products with atoms (P, M)."""
    Y = frames.Y.astype(dtype, copy=False)
    with frames.shard.workers:
        if atoms is not None:
            Y = frames.shard.rotated(Y, np.asfortranarray(atoms, dtype))
    return FramesOnWorker(frames.shard, Y)


def sample(frames: FramesOnWorker, numbers: Indices, dtype: DTypeLike) -> Array:
    """(C, n, M): frames by their numbers in the shard."""
    return frames.Y[:, numbers].astype(dtype)


def forget_transform(frames: FramesOnWorker) -> None:
    """Free the memory of X and of the trial point."""
    frames.forget()


def powers(frames: FramesOnWorker) -> Array:
    """(n,): mean power of each frame."""
    return frames.shard.powers(frames.Y)


def scaled(H: Array, s: Array) -> Array:
    """(n, K): h_k ← s_k h_k."""
    H = own(H)
    H *= s
    return H


def activation_sums(frames: FramesOnWorker, H: Array) -> Nodes:
    """(K,): H1."""
    with frames.shard.workers:
        return frames.shard.activation_sums(own(H))


def shard_method(
    frames: FramesOnWorker, matrices: Chain, method: Callable[..., Any], *args: Any
) -> Any:
    """Return what a method of the shard returns for X and other arguments."""
    with frames.transformed(matrices) as current:
        copies = [own(a) if isinstance(a, np.ndarray) else a for a in args]
        return method(frames.shard, current.X, *copies)


def model_method(
    frames: FramesOnWorker, matrices: Chain, rows: Array, W: Array | None, eps: float,
    method: Callable[..., Nodes], *args: Any,
) -> Nodes:  # fmt: skip
    """Return what a method of the shard returns for X and a model of its power."""
    return cast(Nodes, shard_method(frames, matrices, method, model_of(rows, W), eps, *args))


def evaluate(
    frames: FramesOnWorker, matrices: Chain, rows: Array, W: Array | None, eps: float, trial: Chain
) -> Nodes:
    """Loss and C times the gradient at TX, which is remembered; at X if there is no T."""
    model = model_of(rows, W)
    with frames.transformed(matrices) as current:
        nodes = frames.shard.evaluate(current.X, model, eps) if not trial else []
        for name, T in trial.items():  # one at most
            frames.trial, T = "", own(T)
            nodes = frames.shard.evaluate(current.X, model, eps, T, current.trial_memory())
            frames.trial, current.trial = name, T
        return nodes


def model_of(rows: Array, W: Array | None) -> PowerModel:
    """Return the model WH of activations (n, K), or without W a given one (n, M)."""
    return own(rows) if W is None else Factors(own(rows), contiguous(W.T))
