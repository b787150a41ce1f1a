"""A shard whose frames are tensors on a device, such as the GPU of a worker of a cluster.

The array engine computes what `compiled/shard.py` computes, for all frames of a node of the tree at
once. Y, X and TX (C, n, M) stay on the device; matrices, activations, models of the power and
what is returned are arrays of NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any

import numpy as np

from phinmf._types import Array, Device
from phinmf.arrays import copied, dtype_of, like, on_device, to_numpy, zeros
from phinmf.arrays.precision import one_thread, torch_device
from phinmf.divergences import Penalty
from phinmf.engines.array import ArrayEngine
from phinmf.engines.base import Objective
from phinmf.engines.compiled.shard import Nodes, PowerModel, Shard
from phinmf.engines.compiled.summation import Node

ALL = slice(None)


class TensorShard(Shard):
    """Computes with tensors on a device of this process."""

    def __init__(self, device: Device, shard: Shard) -> None:
        """Compute what a shard does on a device of PyTorch."""
        vars(self).update(vars(shard))
        self.device = torch_device(device)

    def computing(self) -> AbstractContextManager[object]:
        return one_thread()

    def placed(self, Y: Array) -> Array:
        return copied(on_device(Y, self.device))

    def room(self, Y: Array) -> Array:
        return zeros(Y.shape, Y)

    def rotated(self, Y: Array, T: Array, out: Array | None = None) -> Array:
        return Y @ tensor(T, Y).mT

    def powers(self, Y: Array) -> Array:
        return to_numpy(self._engine(Y).powers())

    def converged_activations(
        self, X: Array, H: Array, W: Array, mu: float, eps: float, tol: float, max_updates: int
    ) -> Array:
        engine = self._engine(X, H)
        engine.converge_activations(tensor(W, X), Penalty(mu), eps, tol, max_updates)
        return np.ascontiguousarray(to_numpy(engine.H).T)

    def energies(self, X: Array) -> Nodes:
        return self._nodes(lambda b: [len(X) * self._engine(X[:, b], b=b).energies()])

    def nmf_pass(
        self, X: Array, H: Array, W: Array, rates: Array, eps: float, gamma: float
    ) -> tuple[Array, Nodes]:
        updated = np.empty_like(H)
        penalty = Penalty(float(rates[0]))  # all are the same

        def dictionary_sums(b: slice) -> list[Array]:
            engine = self._engine(X[:, b], H[b], b)
            sums = engine.nmf_pass(tensor(W, X), penalty, eps, gamma)
            updated[b] = to_numpy(engine.H).T
            return [sums.numerator.mT, sums.denominator.mT, sums.activation]

        nodes = self._nodes(dictionary_sums)
        return updated, nodes

    def evaluate(
        self, X: Array, model: PowerModel, eps: float, T: Array | None = None,
        out: Array | None = None, gradient: bool = True,
    ) -> Nodes:  # fmt: skip
        if T is not None:
            X = self.rotated(X, T)
            if out is not None:
                out[...] = X

        def loss_and_gradient(b: slice) -> list[Any]:
            objective = self._objective(X, model, eps, b)
            if not gradient:
                return [objective.loss()]
            loss, G = objective.evaluate()
            return [loss, len(X) * G]

        return self._nodes(loss_and_gradient)

    def curvature(self, X: Array, model: PowerModel, eps: float, exact: bool) -> Nodes:
        def curvatures(b: slice) -> list[Array]:
            objective = self._objective(X, model, eps, b)
            return [objective.curvature(), objective.bound()] if exact else [objective.bound()]

        return self._nodes(curvatures)

    def _engine(self, X: Array, H: Array | None = None, b: slice = ALL) -> ArrayEngine:
        """Return an engine of frames X (C, n, M) of the shard with activations (n, K)."""
        engine = ArrayEngine(X.mT, self.divergence, None, self.weights[b])
        if H is not None:
            engine.set_activations(tensor(H.T, X))
        return engine

    def _objective(self, X: Array, model: PowerModel, eps: float, b: slice) -> Objective:
        """Return the objective of frames b, given X and the model of all frames of the shard."""
        rows = model.frames[b]
        if model.Wt is None:
            return self._engine(X[:, b], b=b).objective_of(tensor(rows.T, X), eps)
        return self._engine(X[:, b], rows, b).objective(tensor(model.Wt.T, X), eps)

    def _nodes(self, of_frames: Callable[[slice], Sequence[Any]]) -> Nodes:
        """Return what a function of consecutive frames returns for those of each node."""
        nodes, blocks = [], iter(self.blocks)
        for n in self.nodes:
            own = list(islice(blocks, n))
            values = of_frames(slice(own[0].start, own[-1].stop))
            nodes.append(Node(n, [to_numpy(value)[()] for value in values]))
        return nodes


def tensor(A: Array, X: Array) -> Array:
    """Copy a matrix to the device and the precision of frames X.

    It is in memory of PyTorch then: the bits of products depend on where an array begins relative
    to a cache line.
    """
    return copied(like(A, X), dtype_of(X))
