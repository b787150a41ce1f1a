"""The loop that finds activations for a known W, each frame until its own convergence."""

from __future__ import annotations

from collections.abc import Callable

from phinmf._types import Array
from phinmf.arrays import copied, namespace

CHECK_EVERY = 5  #: updates between two evaluations of the cost of a frame that converges


def converged(
    frames: Array,
    H: Array,
    cost: Callable[[Array, Array], Array],
    updated: Callable[[Array, Array], Array],
    tol: float,
    max_updates: int,
) -> Array:
    """Return H (K, N) after updates of each frame (…, N) until its cost falls by at most `tol`.

    `cost` returns (n,) for some of the frames and their activations; `updated` returns the
    activations after `CHECK_EVERY` updates. Frames that have converged are left out of what
    follows.
    """
    xp = namespace(H)
    result = copied(H)
    active = xp.arange(H.shape[-1], device=H.device)
    before = cost(frames, H)
    for _ in range(0, max_updates, CHECK_EVERY):
        H = updated(frames, H)
        result[:, active] = H
        now = cost(frames, H)
        moving = before - now > tol
        before, active = now[moving], active[moving]
        if not len(active):
            break
        if len(active) < H.shape[-1]:
            frames, H = frames[..., moving], H[:, moving]
    return result
