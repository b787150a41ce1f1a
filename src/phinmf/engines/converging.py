"""The loop that finds activations for a known W, each frame until its own convergence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from phinmf._types import Array
from phinmf.arrays import copied, namespace

CHECK_EVERY = 5  #: updates between two evaluations of the cost of a frame that converges


def converged(
    frames: Array,
    H: Array,
    cost: Callable[[Array, Array], Array],
    update: Callable[[Array, Array], Array],
    tol: float,
    max_updates: int,
) -> Array:
    """Return H (K, N) after updates of each frame (…, N) until its cost falls by at most `tol`.

    `cost` returns (n,) for some of the frames and their activations, `update` new activations. The
    frames that have converged are left out of what follows.
    """
    xp = namespace(H)
    result = copied(H)
    active = xp.arange(H.shape[-1], device=H.device)
    before = xp.full_like(cost(frames, H), np.inf)
    for n in range(0, max_updates + 1, CHECK_EVERY):
        now = cost(frames, H)
        moving = before - now > tol
        before, active = now[moving], active[moving]
        if n == max_updates or not len(active):
            break
        if len(active) < H.shape[-1]:
            frames, H = frames[..., moving], H[:, moving]
        for _ in range(CHECK_EVERY):
            H = update(frames, H)
        result[:, active] = H
    return result
