"""A shard whose frames stream to a device: more frames than it holds.

X is a transform A of what flows (`flow.py`), and of a trial point only T is held: to evaluate
there, TA is multiplied with each piece when it arrives. So a move takes no time.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

import torch

from phinmf._types import Array, Device, Precision, Tensor
from phinmf.arrays.precision import full_precision
from phinmf.engines.blocked.stretch import Stretch
from phinmf.engines.device.base import DeviceShard
from phinmf.engines.device.flow import Flow


class StreamedShard(DeviceShard):
    """Activations on a device, frames that flow through it."""

    A: Tensor | None  #: (M, M): X = A times what flows; None: they are the same
    T: Tensor | None  #: (M, M): of the trial point TX

    def __init__(
        self,
        shape: tuple[int, int, int],
        dtype: Precision,
        stretch: Stretch,
        device: Device,
        entries: int,
    ) -> None:
        """Hold frames (C, n, M) in pieces of so many entries, once `flow` is set."""
        super().__init__(shape, dtype, stretch, device, entries)
        self.A = self.T = None
        self.flow: Flow

    def pieces_of_Y(self) -> Iterator[Tensor]:
        return self.flow.pieces(of_Y=True)

    def pieces_of_X(self, T: Array | None = None) -> Generator[Tensor, None, None]:
        if T is not None:
            self.T = self.tensor(T).clone()
            yield from self._products(self._times_A(self.T))
        elif self.A is None or self.flow.store is None:
            yield from self._products(self.A)
        else:
            yield from self.flow.replace(self._products(self.A))
            self.A = None

    def _products(self, A: Tensor | None) -> Iterator[Tensor]:
        """Yield A times each piece that flows."""
        for base in self.flow.pieces():
            yield base if A is None else self.product(A, base)

    def _times_A(self, T: Tensor) -> Tensor:
        """Return TA."""
        with full_precision:
            return T if self.A is None else torch.mm(T, self.A)

    def rest(self) -> None:
        self.flow.restart()
        self.A = self.T = None

    def rotate(self, Phi: Array) -> None:
        self.rest()
        self.A = self.tensor(Phi).clone()

    def move(self, T: Array | None) -> None:
        there = self.T if T is None else self.tensor(T).clone()
        assert there is not None
        self.A, self.T = self._times_A(there), None

    def set_model(self, V_hat: Array) -> None:
        self.V_hat = V_hat  # stays on the host
