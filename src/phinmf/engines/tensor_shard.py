"""A shard whose frames are tensors on a device, such as the GPU of a worker of a cluster.

The array engine computes what `compiled/shard.py` computes, for all frames of a node of the tree at
once. Y, X and TX (C, n, M) stay on the device; matrices, activations, models of the power and
what is returned are arrays of NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from phinmf._types import Array, Device
from phinmf.arrays import dtype_of, like, on_device, to_numpy, zeros
from phinmf.arrays.precision import full_precision, torch_device
from phinmf.divergences import Penalty
from phinmf.engines.array import ArrayEngine
from phinmf.engines.base import Objective
from phinmf.engines.compiled.shard import Factors, Nodes, PowerModel, Shard, rows_of
from phinmf.engines.compiled.summation import Node, Tree

ALL = slice(None)


class TensorShard(Shard):
    """Computes with tensors on a device of this process."""

    def __init__(self, device: Device, *of_shard: Any) -> None:
        """Compute on a device of PyTorch; the other arguments are those of a `Shard`."""
        super().__init__(*of_shard)
        self.device = torch_device(device)

    def __reduce__(self) -> tuple[type[Shard], tuple[object, ...]]:
        return TensorShard, (str(self.device), *super().__reduce__()[1])

    def computing(self) -> AbstractContextManager[object]:
        return full_precision

    def placed(self, Y: Array) -> Array:
        return on_device(Y, self.device)

    def room(self, Y: Array) -> Array:
        return zeros(Y.shape, Y)

    def rotated(self, Y: Array, T: Array, out: Array | None = None) -> Array:
        return Y @ like(T, Y, dtype_of(Y)).mT

    def powers(self, Y: Array) -> Array:
        return to_numpy(self._engine(Y).powers())

    def converged_activations(
        self, X: Array, H: Array, W: Array, mu: float, eps: float, tol: float, max_updates: int
    ) -> Array:
        engine = self._engine(X, H)
        engine.converge_activations(like(W, X), Penalty(mu), eps, tol, max_updates)
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
            sums = engine.nmf_pass(like(W, X, dtype_of(X)), penalty, eps, gamma)
            updated[b] = to_numpy(engine.H).T
            return [sums.numerator.mT, sums.denominator.mT, sums.activation]

        nodes = self._nodes(dictionary_sums)
        return updated, nodes

    def evaluate(
        self, X: Array, model: PowerModel, eps: float, T: Array | None = None,
        out: Array | None = None,
    ) -> Nodes:  # fmt: skip
        if T is not None:
            X = self.rotated(X, T)
            if out is not None:
                out[...] = X

        def loss_and_gradient(b: slice) -> list[Any]:
            loss, G = self._objective(X, model, eps, b).evaluate()
            return [loss, len(X) * G]

        return self._nodes(loss_and_gradient)

    def loss(self, X: Array, model: PowerModel, eps: float) -> Nodes:
        return self._nodes(lambda b: [self._objective(X, model, eps, b).loss()])

    def curvature(self, X: Array, model: PowerModel, eps: float, exact: bool) -> Nodes:
        def curvatures(b: slice) -> list[Array]:
            objective = self._objective(X, model, eps, b)
            return [objective.curvature(), objective.bound()] if exact else [objective.bound()]

        return self._nodes(curvatures)

    def _engine(self, X: Array, H: Array | None = None, b: slice = ALL) -> ArrayEngine:
        """Return an engine of frames X (C, n, M) of the shard with activations (n, K)."""
        engine = ArrayEngine(X.mT, self.divergence, None, self.weights[b])
        if H is not None:
            engine.set_activations(like(H.T, X))
        return engine

    def _objective(self, X: Array, model: PowerModel, eps: float, b: slice) -> Objective:
        """Return the objective of frames b, given X and the model of all frames of the shard."""
        rows = rows_of(model, b)
        if isinstance(rows, Factors):
            W = like(rows.Wt.T, X, dtype_of(X))
            return self._engine(X[:, b], rows.H, b).objective(W, eps)
        return self._engine(X[:, b], b=b).objective_of(like(rows.T, X), eps)

    def _nodes(self, of_frames: Callable[[slice], Sequence[Any]]) -> Nodes:
        """Return what a function of consecutive frames returns for those of each node."""
        tree = Tree(self.n_blocks)
        for number, block in enumerate(self.blocks, self.first):
            tree.add(Node(number, number + 1, [block.stop - block.start]))
        nodes, start = [], 0
        for first, end, (length,) in tree.nodes:
            values = of_frames(slice(start, start + length))
            nodes.append(Node(first, end, [to_numpy(value)[()] for value in values]))
            start += length
        return nodes
