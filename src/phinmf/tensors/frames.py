"""The frames that all restarts of a batch share, and how many restarts fit into memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from phinmf._types import Array, Indices, Tensor
from phinmf.divergences import Family

MAX_RESTARTS = 64  #: in a batch; enough to keep any device busy


class BatchFrames(NamedTuple):
    """The frames of a batch, their weights and what else all restarts share."""

    Y: Tensor  #: (C, M, N) at unit power
    weights: Array  #: (N,), on the host
    family: Family  #: of the divergence
    kept: Indices | None = None  #: columns of W that are not updated

    @classmethod
    def of(
        cls, Y: Tensor, weights: Array | None, family: Family, kept: Indices | None
    ) -> BatchFrames:
        """Return frames with their weights, which are 1 if none are given."""
        weights = np.ones(Y.shape[2]) if weights is None else weights
        return cls(Y, weights, family, kept)

    def restarts_within(self, memory: int | None, n_components: int) -> int:
        """Return how many restarts fit into this many bytes, at least 1 and at most 64."""
        if memory is None:
            return MAX_RESTARTS
        C, M, N = self.Y.shape
        item = self.Y.element_size()
        # X, its trial and f'; WH and the curvatures; W and H; L-BFGS and the exponential
        each = (3 * C + 5) * M * N + 4 * (N + M) * n_components + 50 * M * M
        whole = 0.9 * memory - C * M * N * item
        return max(1, min(MAX_RESTARTS, int(whole / (each * item))))
