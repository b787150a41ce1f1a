"""What shards of tensors have in common: every method of the contract, piece by piece.

Formulas are those of `sums.py`. A piece is as many frames as keep a GPU busy and its intermediate
results small. Sums run over the pieces of each of the few nodes (`summation.py`) that the shard
is made of, in double precision, and are copied to the host at the end of a call. Arguments and
results are arrays of NumPy, frames first; tensors are (C, M, n), (M, n) and (K, n).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from typing import Any

import numpy as np
import torch

from phinmf._types import AnyArray, Array, Device, Indices, Precision, Tensor
from phinmf.arrays import cast, on_device
from phinmf.arrays.precision import full_precision
from phinmf.engines import sums
from phinmf.engines.blocked.shard import Nodes
from phinmf.engines.blocked.stretch import Stretch
from phinmf.engines.blocked.summation import Node
from phinmf.engines.converging import converged_activations
from phinmf.engines.device.host import host_array
from phinmf.engines.device.pieces import pieces_of
from phinmf.engines.device.smooth import SmoothTensors
from phinmf.engines.sums import power

Model = Callable[[slice], Tensor]  #: the model v̂ = [WH] + ε of a piece


class DeviceShard(SmoothTensors):
    """A shard whose activations are a tensor on a device; subclasses say where X comes from."""

    kept: Tensor  #: (K, n)

    def __init__(
        self, shape: tuple[int, int, int], dtype: Precision, stretch: Stretch, device: Device,
        entries: int,
    ) -> None:  # fmt: skip
        """Hold frames (C, n, M) in this precision, in pieces of so many entries."""
        self.device = torch.device(device)
        self.dtype: torch.dtype = getattr(torch, dtype.name)
        self.C, n, self.M = shape
        self.divergence, self.frames = stretch.divergence, stretch.frames
        self.weights = self.tensor(stretch.weights, torch.float64)
        self.w = None if (stretch.weights == 1).all() else self.weights  #: None if all are 1
        self.links = self.tensor(stretch.links, torch.bool)
        self.nodes, self.pieces = pieces_of(stretch, entries // (self.C * self.M))
        self.H = self.kept = torch.zeros((0, n), dtype=self.dtype, device=self.device)
        self.V_hat = None

    def tensor(self, x: AnyArray, dtype: torch.dtype | None = None) -> Tensor:
        """Return the same numbers on the device; on a processor they may share memory."""
        return on_device(x, self.device).to(dtype or self.dtype)

    def product(self, T: Tensor, X: Tensor, out: Tensor | None = None) -> Tensor:
        """Return T X for X (C, M, n), whose rows are then contiguous.

        The library would choose the layout of a product with several channels by itself.
        """
        if out is None:
            out = torch.empty(
                (len(X), len(T), X.shape[2]), dtype=self.dtype, device=self.device
            )  # fmt: skip
        for channel, result in zip(X, out, strict=True):
            torch.mm(T, channel, out=result)
        return out

    # where pieces come from

    @abstractmethod
    def pieces_of_Y(self) -> Iterator[Tensor]:
        """Yield each piece of Y (C, M, n), in order."""

    @abstractmethod
    def pieces_of_X(self, T: Array | None = None) -> Generator[Tensor, None, None]:
        """Yield each piece of X (C, M, n), or of TX, which becomes the trial point."""

    def each(self, one: Callable[[slice, Tensor], None]) -> None:
        """Call a function with each piece of X."""
        with full_precision, closing(self.pieces_of_X()) as all_of_X:
            for piece, X in zip(self.pieces, all_of_X, strict=True):
                one(piece.frames, X)

    # sums over pieces

    def sums_over_pieces(
        self, one: Callable[[slice, Tensor], Sequence[Tensor]], T: Array | None = None
    ) -> Nodes:
        """Add up what `one` returns for each piece of X or of TX."""
        with full_precision, closing(self.pieces_of_X(T)) as all_of_X:
            each = zip(self.pieces, all_of_X, strict=True)
            return self.nodes_of(one(piece.frames, X) for piece, X in each)

    def sums_over_activations(self, one: Callable[[slice], Sequence[Tensor]]) -> Nodes:
        """Add up what `one` returns for each piece, without X."""
        with full_precision:
            return self.nodes_of(one(piece.frames) for piece in self.pieces)

    def nodes_of(self, found: Iterator[Sequence[Tensor]]) -> Nodes:
        """Add up in double precision what was found for each piece, and copy it to the host."""
        totals: list[list[Tensor]] = [[] for _ in self.nodes]
        kinds: list[torch.dtype] = []
        for piece, parts in zip(self.pieces, found, strict=True):
            total = totals[piece.node]
            if total:
                for already, part in zip(total, parts, strict=True):
                    already += part
            else:
                total += [part.to(torch.float64, copy=True) for part in parts]
                kinds = [part.dtype for part in parts]
        return [
            Node(n.start, n.stop, [on_host(t, k) for t, k in zip(total, kinds, strict=True)])
            for n, total in zip(self.nodes, totals, strict=True)
        ]

    # values for each frame

    def powers(self) -> Array:
        with full_precision:
            found = [torch.sum(Y * Y, (0, 1), dtype=torch.float64) for Y in self.pieces_of_Y()]
        return host_array(torch.cat(found) / (self.C * self.M), self.dtype)

    def activations(self) -> Array:
        return host_array(self.H.mT)

    def set_activations(self, H: Array) -> None:
        self.H = self.tensor(H).mT.clone(memory_format=torch.contiguous_format)

    def keep_activations(self) -> None:
        self.kept = self.H.clone()

    def restore_activations(self) -> None:
        self.H = self.kept.clone()

    def kept_activations(self) -> Array:
        return host_array(self.kept.mT)

    def scale_activations(self, s: Array) -> None:
        self.H *= self.tensor(s)[:, None]

    def converge_activations(
        self, W: Array, mu: float, eps: float, tol: float, max_updates: int
    ) -> None:
        there = self.tensor(W, torch.float64)

        def one(frames: slice, X: Tensor) -> None:
            self.H[:, frames] = converged_activations(
                self.divergence, power(X), there, self.H[:, frames], mu, eps, tol, max_updates
            )

        self.each(one)

    # sums over frames

    def energies(self) -> Nodes:
        def one(frames: slice, X: Tensor) -> tuple[Tensor]:
            return (self.C * (cast(power(X), np.float64) @ self.weights[frames]),)

        return self.sums_over_pieces(one)

    def activation_sums(self) -> Nodes:
        def one(frames: slice) -> tuple[Tensor]:
            return (self.H[:, frames].double() @ self.weights[frames],)

        return self.sums_over_activations(one)

    def nmf_pass(self, W: Array, rates: Array, eps: float, gamma: float) -> Nodes:
        d, there, rate = self.divergence, self.tensor(W), self.tensor(rates)[:, None]

        def one(frames: slice, X: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            V, H = power(X), self.H[:, frames]
            if gamma:
                H[...] = sums.updated_activations(d, V, there, H, rate, eps, gamma)
            found = sums.dictionary_sums(d, V, there, H, eps, self.weights_of(frames))
            return found.numerator.mT, found.denominator.mT, found.activation

        return self.sums_over_pieces(one)

    def at(self, W: Array | None, eps: float, T: Array | None) -> Nodes:
        d, model = self.divergence, self.model(W, eps)

        def one(frames: slice, X: Tensor) -> tuple[Tensor, Tensor]:
            V, v_hat = power(X), model(frames)
            loss = sums.loss(d, V, v_hat, eps, self.weights[frames])
            f_prime = sums.slopes(d, X, V, v_hat, eps, self.weights_of(frames))
            return loss, self.C * sums.gradient(f_prime, X)

        return self.sums_over_pieces(one, T)

    def loss(self, W: Array | None, eps: float) -> Nodes:
        d, model = self.divergence, self.model(W, eps)

        def one(frames: slice, X: Tensor) -> tuple[Tensor]:
            return (sums.loss(d, power(X), model(frames), eps, self.weights[frames]),)

        return self.sums_over_pieces(one)

    def curvature(self, W: Array | None, eps: float, exact: bool) -> Nodes:
        d, model = self.divergence, self.model(W, eps)
        kinds = (d.curvature, d.bound) if exact else (d.bound,)

        def one(frames: slice, X: Tensor) -> list[Tensor]:
            V, v_hat, weights = power(X), model(frames), self.weights_of(frames)
            return [sums.curvature(second(V, v_hat, eps), V, weights) for second in kinds]

        return self.sums_over_pieces(one)

    def pair_losses(
        self, W: Array | None, eps: float, p: Indices, q: Indices, angles: Array
    ) -> Nodes:
        d, model = self.divergence, self.model(W, eps)

        def one(frames: slice, X: Tensor) -> tuple[Tensor]:
            weights = self.weights[frames]
            return (sums.pair_losses(d, X, model(frames), eps, weights, p, q, angles),)

        return self.sums_over_pieces(one)

    def weights_of(self, frames: slice) -> Tensor | None:
        """Return the weights of a piece; None stands for weights of 1."""
        return None if self.w is None else self.w[frames]

    def model(self, W: Array | None, eps: float) -> Model:
        """Return a function that models the power of a piece: by WH + ε, or V̂ + ε without W."""
        if W is None:
            given = self.V_hat
            assert given is not None
            return lambda frames: self.tensor(given[frames]).mT.contiguous() + eps
        there = self.tensor(W)
        return lambda frames: there @ self.H[:, frames] + eps


def on_host(x: Tensor, dtype: torch.dtype) -> Any:
    """Return a number, or an array of NumPy with its rows contiguous."""
    return host_array(x, dtype) if x.ndim else float(x)
