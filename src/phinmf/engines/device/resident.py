"""A shard whose frames are all on a device: Y, X and the trial point."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import torch

from phinmf._types import AnyArray, Array, Device, Tensor
from phinmf.arrays import dtype_of
from phinmf.arrays.precision import full_precision
from phinmf.engines.blocked.stretch import Stretch
from phinmf.engines.blocked.two_points import TwoPoints
from phinmf.engines.device.base import DeviceShard
from phinmf.engines.device.pieces import ALIGNED, ENTRIES

ARRAYS = 3  #: as large as the frames that are held


class TensorShard(TwoPoints[Tensor], DeviceShard):
    """Frames, activations and a trial point as tensors."""

    Y: Tensor  #: (C, M, n), frames contiguous: as they come from the host
    X: Tensor  #: (C, M, n), rows contiguous: as products are

    def __init__(
        self, Y: AnyArray, stretch: Stretch, device: Device, entries: int = ENTRIES
    ) -> None:
        """Copy frames (C, n, M) to a device, or multiply them with atoms there."""
        C, n, M = Y.shape
        atoms = stretch.atoms
        size = M if atoms is None else len(atoms)
        super().__init__((C, n, size), dtype_of(Y), stretch, device, entries)
        self.hold(self.tensor(Y).mT if atoms is None else self._products(atoms, Y))

    def _products(self, atoms: Array, Y: AnyArray) -> Tensor:
        """Return atoms times frames, a piece at a time."""
        there, Z = self.tensor(atoms), self.room()
        with full_precision:
            for piece in self.pieces:
                some = self.tensor(Y[:, piece.frames]).mT
                self.product(there, some, Z[..., piece.frames])
        return Z

    def frames_on_device(self) -> Tensor:
        return self.Y.mT

    def room(self) -> Tensor:
        """Return memory for a transform of all frames; its rows are aligned."""
        n = self.H.shape[1]
        wide = -(-n // ALIGNED) * ALIGNED
        room = torch.empty((self.C, self.M, wide), dtype=self.dtype, device=self.device)
        return room[..., :n]

    def pieces_of_Y(self) -> Iterator[Tensor]:
        return (self.Y[..., piece.frames] for piece in self.pieces)

    def pieces_of_X(self, T: Array | None = None) -> Generator[Tensor, None, None]:
        if T is None:
            yield from (self.X[..., piece.frames] for piece in self.pieces)
            return
        there, trial = self.tensor(T), self.room_for_trial()
        for piece in self.pieces:
            yield self.product(there, self.X[..., piece.frames], trial[..., piece.frames])

    def multiply(self, T: Array, source: Tensor, target: Tensor) -> None:
        with full_precision:
            self.product(self.tensor(T), source, target)

    def set_model(self, V_hat: Array) -> None:
        self.V_hat = self.tensor(V_hat)
