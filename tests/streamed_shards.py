"""A streamed shard whose state can be looked at and replaced, for the tests of the contract."""

import torch

from phinmf.arrays.threads import Workers
from phinmf.engines.device.fitting import streamed
from phinmf.engines.device.host import LockedFrames
from phinmf.engines.device.streamed import StreamedShard


class Visible(StreamedShard):
    """X and the trial point are computed when they are asked for; X is stored, so Y is apart."""

    stands_for = ("A", "T")  #: attributes instead of X and the trial point

    @property
    def Y(self):
        return torch.cat([piece.clone() for piece in self.flow.pieces(of_Y=True)], 2)

    @Y.setter
    def Y(self, Y):
        self.flow.Y = LockedFrames(Y.mT.contiguous().numpy(), self.device)

    @property
    def X(self):
        return torch.cat([piece.clone() for piece in self._products(self.A)], 2)

    @X.setter
    def X(self, X):
        """Replace X by numbers that are all the same."""
        self.A = torch.full((self.M, self.M), float(X.flatten()[0]), dtype=self.dtype)

    @property
    def trial(self):
        return None if self.T is None else self.T @ self.X

    @trial.setter
    def trial(self, trial):
        self.T = torch.full((self.M, self.M), float(trial.flatten()[0]), dtype=self.dtype)


def visible(Y, stretch, workers):
    """Return a shard that keeps some of its frames on the processor as its device."""
    shard = streamed("cpu", Y, Y.shape, Y.dtype, stretch, Workers(1), 1.2 * Y.nbytes)
    assert 0 < len(shard.flow.keeps) < len(shard.flow.shapes)
    shard.__class__ = Visible
    return shard
