"""Give each component to a source, knowing the sources: an oracle.

In practice the sources are not known, so scores of such a grouping say how good the components are
for someone who groups them by ear, not how good an automatic choice is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from phinmf._types import Array, Indices
from phinmf.scores.measures import LIMIT, described, signals

EXHAUSTIVE = 2**16  #: number of groupings up to which all are tried


def oracle_grouping(
    components: Sequence[ArrayLike] | Array, references: Sequence[ArrayLike] | Array
) -> Indices:
    """Give each component to a source, so that the mean SDR (gain-only) is the largest.

    All groupings are tried if there are at most 65,536. Otherwise each component starts at the
    source that it shares the most energy with, and single components move or swap as long as that
    improves the result. The result is the same every time.

    Parameters
    ----------
    components : sequence of K arrays of shape (n,) or (n, channels)
        The components of a recording.
    references : sequence of J arrays of that shape
        The true sources. A silent one gets no components, unless all are silent.

    Returns
    -------
    array of int
        The source of each component, from 0 to J - 1.
    """
    given, truths = signals("components", components), signals("references", references)
    if given.shape[1:] != truths.shape[1:]:
        raise ValueError(
            f"components have {described(given)}, but the references have {described(truths)}:"
            " both need the same length and channels"
        )
    audible = np.flatnonzero(truths.any(axis=(1, 2)))
    if len(audible) == 0:
        return np.zeros(len(given), dtype=np.intp)
    search = _Search(given, truths[audible])
    return audible[search.best()]


def grouped(components: Sequence[ArrayLike] | Array, grouping: Indices, n_groups: int) -> Array:
    """Return the sum of the components of each group.

    Parameters
    ----------
    components : sequence of K arrays of shape (n,) or (n, channels)
        The signals to add up.
    grouping : array of shape (K,)
        The group of each component, counted from 0, as `oracle_grouping` returns it.
    n_groups : int
        Number of groups; a group without components is silent.

    Returns
    -------
    array of shape (n_groups, n, channels)
        The sums.
    """
    given = signals("components", components)
    sums = np.zeros((n_groups, *given.shape[1:]))
    np.add.at(sums, grouping, given)
    return sums


class _Search:
    """Search for the best grouping; inner products give the SDR of a group without its signal."""

    def __init__(self, components: Array, truths: Array) -> None:
        norms = np.linalg.norm(truths, axis=1)  # (J, channels)
        with np.errstate(divide="ignore", invalid="ignore"):
            units = np.where(norms[:, None] > 0, truths / norms[:, None], 0)
        self.shared = np.einsum("knc,jnc->kjc", components, units)
        flat = components.reshape(len(components), -1)
        self.common = flat @ flat.T
        self.K, self.J = len(components), len(truths)

    def sdr(self, members: Array, source: int) -> Array:
        """Return the SDR of groups, given as rows of zeros and ones, for a source."""
        target = np.square(members @ self.shared[:, source]).sum(axis=1)
        energy = np.einsum("gk,kl,gl->g", members, self.common, members)
        rest = np.maximum(energy - target, 0)
        silent = target <= 1e-20 * np.trace(self.common)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = 10 * np.log10(target / rest)
        return np.where(silent, -LIMIT, np.clip(ratio, -LIMIT, LIMIT))

    def best(self) -> Indices:
        """Return the best grouping that is found."""
        if self.J == 1:
            return np.zeros(self.K, dtype=np.intp)
        return self.exact() if self.J**self.K <= EXHAUSTIVE else self.local()

    def exact(self) -> Indices:
        """Return the best of all groupings."""
        subsets = (np.arange(2**self.K)[:, None] >> np.arange(self.K)) & 1
        values = np.stack([self.sdr(subsets.astype(float), j) for j in range(self.J)])
        groupings = np.indices((self.J,) * self.K).reshape(self.K, -1)
        total = np.zeros(groupings.shape[1])
        for j in range(self.J):
            total += values[j, ((groupings == j) << np.arange(self.K)[:, None]).sum(axis=0)]
        return groupings[:, total.argmax()]

    def local(self) -> Indices:
        """Return a grouping that no move of a component and no swap of two improves."""
        grouping = np.square(self.shared).sum(axis=2).argmax(axis=1)
        value = self.values(grouping[None])[0]
        while True:
            near = np.concatenate([self.moves(grouping), self.swaps(grouping)])
            values = self.values(near)
            best = int(values.argmax())
            if values[best] <= value + 1e-9:
                return grouping
            grouping, value = near[best], values[best]

    def values(self, groupings: Indices) -> Array:
        """Return the sum of the SDR of each grouping (a row)."""
        return sum(
            (self.sdr((groupings == j).astype(float), j) for j in range(self.J)),
            start=np.zeros(len(groupings)),
        )

    def moves(self, grouping: Indices) -> Indices:
        """Return all groupings in which one component has another source."""
        near = np.repeat(grouping[None], self.K * self.J, axis=0)
        near[np.arange(self.K * self.J), np.repeat(np.arange(self.K), self.J)] = np.tile(
            np.arange(self.J), self.K
        )
        return near

    def swaps(self, grouping: Indices) -> Indices:
        """Return all groupings in which two components have changed places."""
        first, second = np.triu_indices(self.K, 1)
        near = np.repeat(grouping[None], len(first), axis=0)
        rows = np.arange(len(first))
        near[rows, first], near[rows, second] = grouping[second], grouping[first]
        return near
