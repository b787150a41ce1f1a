"""What restarts in lockstep share, and how many fit into memory."""

from __future__ import annotations

from typing import Any, NamedTuple

from phinmf._types import Tensor

MOST_TOGETHER = 64  #: restarts of a batch, by when any device is busy


class Frames(NamedTuple):
    """What all restarts share."""

    Y: Tensor  #: (C, M, N) at unit power
    weights: Any  #: (N,), NumPy
    kappa: float  #: of the divergence
    kept: Any = None  #: columns of W that stay


def restarts_within(memory: int | None, frames: Frames, n_components: int) -> int:
    """How many restarts fit into so many bytes; at least one is tried."""
    if memory is None:
        return MOST_TOGETHER
    C, M, N = frames.Y.shape
    item = frames.Y.element_size()
    # X, its trial, f', WH and three of the curvature; for L-BFGS and the exponential
    each = (3 * C + 5) * M * N + 4 * (N + M) * n_components + 50 * M * M
    whole = 0.9 * memory - C * M * N * item
    return max(1, min(MOST_TOGETHER, int(whole / (each * item))))
