"""The loop that finds activations for a known W, each frame until its own convergence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from phinmf._types import Array
from phinmf.arrays import cast, copied, namespace
from phinmf.divergences import Divergence
from phinmf.engines import sums

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


def converged_activations(
    divergence: Divergence,
    V: Array,
    W: Array,
    H: Array,
    rate: float,
    eps: float,
    tol: float,
    max_updates: int,
) -> Array:
    """Return H (K, N) as `Engine.converge_activations` says, computed in double precision.

    A unit of activation costs `rate`.
    """
    V, W = cast(V, np.float64), cast(W, np.float64)

    def cost(v: Array, H: Array) -> Array:
        return sums.relative_costs(divergence, v, W, H, rate, eps)

    def updated(v: Array, H: Array) -> Array:
        for _ in range(CHECK_EVERY):
            H = sums.updated_activations(divergence, v, W, H, rate, eps, divergence.max_exponent)
        return H

    return converged(V, cast(H, np.float64), cost, updated, tol * len(V), max_updates)
