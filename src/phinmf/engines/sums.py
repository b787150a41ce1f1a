"""The sums over frames in readable form, as pure functions.

========  ==============  =================================================
X         (C, M, N)       coefficients ΦY
V, v̂      (M, N)          power, and its model [WH] + ε
W, H      (M, K), (K, N)
weights   (N,)            float64: how many frames each frame stands for
========  ==============  =================================================

Where entries are multiplied by the weights, None stands for weights of 1 and saves the product.
The engines for speed are tested against these functions, through the array engine that uses them.
"""

from __future__ import annotations

import numpy as np

from phinmf._types import Array, Indices
from phinmf.arrays import cast, copied, dtype_of, indices, like, namespace, zeros
from phinmf.divergences import Divergence
from phinmf.divergences.base import multiply
from phinmf.divergences.penalty import Pull
from phinmf.engines.base import DictionarySums

CHECK_EVERY = 5  #: updates between two evaluations of the cost of a frame that converges


def mean_over_channels(A: Array) -> Array:
    """Return the mean over the channels of (C, M, N); of one channel, that channel itself."""
    return A[0] if len(A) == 1 else namespace(A).mean(A, axis=0)


def power(X: Array) -> Array:
    """v_mn = mean_c x²_cmn."""
    return mean_over_channels(X * X)


def weighted(entries: Array, weights: Array | None) -> Array:
    """Multiply the entries of (M, N) by the weight of their frame, in their own precision."""
    return entries if weights is None else entries * cast(weights, dtype_of(entries))


def frame_losses(divergence: Divergence, V: Array, v_hat: Array, eps: float) -> Array:
    """(N,): Σ_m f(x_mn), what each frame costs, in double precision."""
    xp = namespace(V)
    return xp.sum(divergence.value(V, v_hat, eps), axis=0, dtype=xp.float64)


def relative_costs(
    divergence: Divergence, V: Array, W: Array, H: Array, sparsity: float, eps: float
) -> Array:
    """(N,): the cost of each frame with its penalty, divided by how costs grow with its power."""
    xp = namespace(V)
    costs = frame_losses(divergence, V, W @ H + eps, eps) + sparsity * xp.sum(H, axis=0)
    return costs / (xp.mean(V, axis=0) + eps) ** divergence.degree


def loss(divergence: Divergence, V: Array, v_hat: Array, eps: float, weights: Array) -> Array:
    """L(Φ) of (3), the weighted sum of f over all entries, in double precision."""
    return frame_losses(divergence, V, v_hat, eps) @ weights


def slopes(
    divergence: Divergence, X: Array, V: Array, v_hat: Array, eps: float, weights: Array | None
) -> Array:
    """(C, M, N): f'(x), weighted."""
    return weighted(divergence.slope(V, v_hat, eps), weights) * X


def gradient(f_prime: Array, X: Array) -> Array:
    """(M, M): G_ij = Σ_n f'(x_in) x_jn of (8), mean over channels."""
    return mean_over_channels(f_prime @ X.mT)


def curvature(second: Array, V: Array, weights: Array | None) -> Array:
    """(M, M): Σ_n s_in x²_jn; s = f'' for the diagonal of (9), s = its bound b for h of (12)."""
    return weighted(second, weights) @ V.mT


def updated_activations(
    divergence: Divergence,
    V: Array,
    W: Array,
    H: Array,
    sparsity: float,
    eps: float,
    gamma: float,
    pull: Pull | None = None,
) -> Array:
    """H∘[WᵀP/(WᵀQ+μ)]^γ of §2.2; `sparsity` is μ.

    If activations are smooth, neighbours `pull` in addition.
    """
    P, Q = divergence.nmf_split(V, W @ H + eps, eps)
    numerator, denominator = W.mT @ P, W.mT @ Q + sparsity
    if pull is not None:
        numerator, denominator = H * numerator + pull.numerator, H * denominator + pull.denominator
    return multiply(H, numerator, denominator, gamma)


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

    A unit of activation costs `rate`. Frames that have converged are left out of what follows.
    """
    xp = namespace(H)
    V, W, H = (cast(A, np.float64) for A in (V, W, H))
    result, active = copied(H), xp.arange(H.shape[1], device=H.device)
    before = relative_costs(divergence, V, W, H, rate, eps)
    for _ in range(0, max_updates, CHECK_EVERY):
        for _ in range(CHECK_EVERY):
            H = updated_activations(divergence, V, W, H, rate, eps, divergence.max_exponent)
        result[:, active] = H
        now = relative_costs(divergence, V, W, H, rate, eps)
        moving = before - now > tol * len(V)
        before, active = now[moving], active[moving]
        if not len(active):
            break
        if len(active) < H.shape[1]:
            V, H = V[:, moving], H[:, moving]
    return result


def dictionary_sums(
    divergence: Divergence, V: Array, W: Array, H: Array, eps: float, weights: Array | None
) -> DictionarySums:
    """PHᵀ, QHᵀ and H1 of §2.2, weighted: what the update of W needs."""
    P, Q = divergence.nmf_split(V, W @ H + eps, eps)
    H = weighted(H, weights)
    return DictionarySums(P @ H.mT, Q @ H.mT, namespace(H).sum(H, axis=1))


def pair_losses(
    divergence: Divergence,
    X: Array,
    v_hat: Array,
    eps: float,
    weights: Array,
    p: Indices,
    q: Indices,
    angles: Array,
) -> Array:
    """(pairs, angles): the loss of rows p and q of X (C, M, N) after R_pq(θ) of (6), weighted.

    The indices and the angles are on the host; the result is in double precision.
    """
    c, s = (like(f(angles), X, dtype_of(X)) for f in (np.cos, np.sin))
    p, q = (indices(i, X) for i in (p, q))
    Xp, Xq, v_hat_p, v_hat_q = X[:, p], X[:, q], v_hat[p], v_hat[q]

    def row_losses(rows: Array, model: Array) -> Array:
        return cast(divergence.value(power(rows), model, eps), np.float64) @ weights

    losses = zeros(angles.shape, X, np.float64)
    for t in range(angles.shape[1]):
        losses[:, t] = row_losses(c[:, t, None] * Xp + s[:, t, None] * Xq, v_hat_p)
        losses[:, t] += row_losses(c[:, t, None] * Xq - s[:, t, None] * Xp, v_hat_q)
    return losses
