"""The sums over frames in readable form, as pure functions.

========  ==============  =================================================
X         (C, M, N)       coefficients ΦY
V, v̂      (P, N)          power, and its model [WH] + ε
W, H      (P, K), (K, N)
weights   (N,)            float64: how many frames each frame stands for
========  ==============  =================================================

P is M; or M/2 if atoms come in pairs: rows 2p and 2p+1 of Φ share the power v_p, the mean of both.

Where entries are multiplied by the weights, None stands for weights of 1 and saves the product.
The engines for speed are tested against these functions, through the array engine that uses them.
"""

from __future__ import annotations

import numpy as np

from phinmf._types import Array, Indices
from phinmf.arrays import cast, dtype_of, for_each_atom, indices, like, namespace, zeros
from phinmf.divergences import Divergence
from phinmf.divergences.base import multiply
from phinmf.divergences.penalty import MOST_GROWTH, Pull
from phinmf.engines.base import DictionarySums

CHECK_EVERY = 5  #: updates between two evaluations of the cost of a frame that converges


def mean_over_channels(A: Array) -> Array:
    """Return the mean over the channels of (C, M, N); of one channel, that channel itself."""
    return A[0] if len(A) == 1 else namespace(A).mean(A, axis=0)


def power(X: Array, P: int | None = None) -> Array:
    """v_mn = mean_c x²_cmn; with half as many rows P, v_pn is also the mean over rows of a pair."""
    V = mean_over_channels(X * X)
    if P is None or len(V) == P:
        return V
    return namespace(V).mean(V.reshape(P, len(V) // P, V.shape[1]), axis=1)


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
    """The weighted sum of f over the entries of V, in double precision: L(Φ) of (3).

    A pair counts for its two atoms, so L(Φ) is twice this sum if V has a row for each pair.
    """
    return frame_losses(divergence, V, v_hat, eps) @ weights


def slopes(
    divergence: Divergence, X: Array, V: Array, v_hat: Array, eps: float, weights: Array | None
) -> Array:
    """(C, M, N): f'(x), weighted."""
    slope = weighted(divergence.slope(V, v_hat, eps), weights)
    return for_each_atom(slope, X.shape[1]) * X


def gradient(f_prime: Array, X: Array) -> Array:
    """(M, M): G_ij = Σ_n f'(x_in) x_jn of (8), mean over channels."""
    return mean_over_channels(f_prime @ X.mT)


def second_derivative(divergence: Divergence, V: Array, v_hat: Array, eps: float, M: int) -> Array:
    """(P, N): f''(x); of a pair, its mean over both rows, which no rotation of the pair changes.

    With v = (x_a² + x_b²)/2 and slope 2d'(v): f''(x_a) = 2d' + 2 x_a² d'', of mean 2d' + 2v d'',
    half way between the slope and the f'' = 2d' + 4v d'' of a single atom.
    """
    second = divergence.curvature(V, v_hat, eps)
    return second if len(V) == M else (divergence.slope(V, v_hat, eps) + second) / 2


def curvature(second: Array, V: Array, weights: Array | None) -> Array:
    """(M, M): Σ_n s_in x²_jn; s = f'' for the diagonal of (9), s = its bound b for h of (12).

    V (M, N) is the power of each atom, also if s (P, N) belongs to pairs.
    """
    return for_each_atom(weighted(second, weights) @ V.mT, len(V))


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
        numerator = namespace(H).minimum(numerator, MOST_GROWTH * denominator)
    return multiply(H, numerator, denominator, gamma)


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

    If two rows share their power, it is the loss of both powers, with the rows that are not turned.
    The indices and the angles are on the host; the result is in double precision.
    """
    c, s = (like(f(angles), X, dtype_of(X)) for f in (np.cos, np.sin))
    shared = X.shape[1] // len(v_hat)
    Xp, Xq = (X[:, indices(i, X)] for i in (p, q))
    v_hat_p, v_hat_q = (v_hat[indices(i // shared, X)] for i in (p, q))
    rest_p = rest_q = None
    if shared == 2:  # the other row of each pair: of even and odd numbers
        rest_p, rest_q = (power(X[:, indices(i ^ 1, X)]) for i in (p, q))

    def row_losses(rows: Array, rest: Array | None, model: Array) -> Array:
        v = power(rows) if rest is None else (power(rows) + rest) / 2
        return shared * cast(divergence.value(v, model, eps), np.float64) @ weights

    losses = zeros(angles.shape, X, np.float64)
    for t in range(angles.shape[1]):
        losses[:, t] = row_losses(c[:, t, None] * Xp + s[:, t, None] * Xq, rest_p, v_hat_p)
        losses[:, t] += row_losses(c[:, t, None] * Xq - s[:, t, None] * Xp, rest_q, v_hat_q)
    return losses
