"""What the restarts of a batch share, and how many fit into memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from phinmf._types import Array, Indices, Tensor
from phinmf.divergences import Family

MOST_TOGETHER = 64  #: restarts in a batch, which keep any device busy


class BatchFrames(NamedTuple):
    """The frames of a batch and what all of its restarts share."""

    Y: Tensor  #: (C, M, N) at unit power
    weights: Array  #: (N,), on the host
    kappa: float  #: of the divergence
    kept: Indices | None = None  #: columns of W that stay

    @classmethod
    def of(
        cls, Y: Tensor, weights: Array | None, family: Family, kept: Indices | None
    ) -> BatchFrames:
        """Frames with weights, one each if there are none."""
        weights = np.ones(Y.shape[2]) if weights is None else weights
        return cls(Y, weights, family.log_share, kept)

    def restarts_within(self, memory: int | None, n_components: int) -> int:
        """How many restarts fit into so many bytes; at least one is tried."""
        if memory is None:
            return MOST_TOGETHER
        C, M, N = self.Y.shape
        item = self.Y.element_size()
        # X, its trial, f', WH and three of the curvature; for L-BFGS and the exponential
        each = (3 * C + 5) * M * N + 4 * (N + M) * n_components + 50 * M * M
        whole = 0.9 * memory - C * M * N * item
        return max(1, min(MOST_TOGETHER, int(whole / (each * item))))
