"""Divide components into groups by their similarity, and find those that belong together."""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import cut_tree, fcluster, linkage
from scipy.spatial.distance import squareform

from phinmf._types import Array, Indices

WEIGHT = 0.75  #: exponent of a component's share of the energy
LEAST_SHARE = 1e-9  #: so that a silent component has a weight
CERTAIN = 0.75  #: similarity of components that probably belong together
GAIN = 1e-9  #: improvement for which a component moves


def divide(S: Array, n: int, shares: Array | None = None) -> Indices:
    """Divide K components into n groups, none of them empty.

    The groups of average linkage are improved by moving single components, as long as that raises
    the sum over groups of w' S w / Σw, where w are the weights of the components of a group. That
    is k-means with weights in the space in which S are the inner products: strong components
    decide, so that a weak one that is unlike all others does not become a group.

    Parameters
    ----------
    S : array of shape (K, K)
        Similarity; negative numbers count as 0.
    n : int
        Number of groups, 1 to K.
    shares : array of shape (K,), optional
        Share of the energy that each component has; equal if not given.

    Returns
    -------
    array of K whole numbers from 0 to n - 1
    """
    S = symmetric(S)
    K = len(S)
    weights = np.ones(K) if shares is None else np.maximum(shares, LEAST_SHARE) ** WEIGHT
    labels = linked(S, n)
    while (move := best_move(S, weights, labels, n)) is not None:
        k, group = move
        labels[k] = group
    return labels


def best_move(S: Array, w: Array, labels: Indices, n: int) -> tuple[int, int] | None:
    """Return the component and the group whose union improves the sum most, or None."""
    rows = np.arange(len(S))
    member = np.zeros((len(S), n))
    member[rows, labels] = w
    near = S @ member  # similarity of each component to each group, weighted
    mass = member.sum(axis=0)
    inside = np.einsum("kg,kg->g", member, near)
    value = inside / mass
    own = w * w * np.diag(S)
    alone = np.bincount(labels, minlength=n)[labels] == 1
    without = inside[labels] - 2 * w * near[rows, labels] + own
    left = without / np.where(alone, 1, mass[labels] - w)
    joined = (inside + 2 * w[:, None] * near + own[:, None]) / (mass + w[:, None])
    gain = (left - value[labels])[:, None] + joined - value
    gain[rows, labels] = gain[alone] = -np.inf
    k, group = np.unravel_index(gain.argmax(), gain.shape)
    return (int(k), int(group)) if gain[k, group] > GAIN * value.sum() else None


def suggestions(S: Array, n_max: int = 5) -> list[list[int]]:
    """Return sets of components that probably belong together, the most certain first.

    Parameters
    ----------
    S : array of shape (K, K)
        Similarity.
    n_max : int
        Maximum number of sets.

    Returns
    -------
    list of lists of numbers, counted from 1
        No component is in two sets. Each two components of a set have a similarity of at least
        `CERTAIN`; there is no set if no two components have.
    """
    S = symmetric(S)
    if len(S) < 2:
        return []
    labels = fcluster(linkage(distances(S), "complete"), 1 - CERTAIN, "distance")
    sets = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    sets = [members for members in sets if len(members) > 1]
    sets.sort(key=lambda members: -S[np.ix_(members, members)].min())
    return [[int(k) + 1 for k in members] for members in sets[:n_max]]


def linked(S: Array, n: int) -> Indices:
    """Return exactly n groups by average linkage, numbered from 0."""
    if len(S) == 1:
        return np.zeros(1, dtype=np.intp)
    return cut_tree(linkage(distances(S), "average"), n_clusters=[n])[:, 0].astype(np.intp)


def distances(S: Array) -> Array:
    """Return 1 - S of all pairs, in the order of scipy."""
    pairs: Array = squareform(1 - S, checks=False)
    return pairs


def symmetric(S: Array) -> Array:
    """Return S without what rounding and older versions left in it: from 0 to 1, symmetric."""
    S = np.clip((S + S.T) / 2, 0, 1)
    np.fill_diagonal(S, 1)
    return S
