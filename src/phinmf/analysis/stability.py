"""Which atoms every start finds, in the spirit of ICASSO (Himberg et al. 2004)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from phinmf._types import Array, Indices
from phinmf.analysis.matching import unit_atoms

#: Minimum mean |cos| within a cluster: cos 45°; an orthonormal set has one atom within 45°.
ALIKE = 0.7


@dataclass(frozen=True, eq=False)
class Stability:
    """Clusters of atoms from several runs, the most reliable first.

    Attributes
    ----------
    atoms : (c, M) array
        One atom for each cluster: the member most similar to the others.
    reliability : (c,) array
        From 0 to 1: the mean over all other runs of |cos| between that atom and the cluster's
        member from that run, 0 where a run has none. 1 means that every run returns this atom.
    index : (c,) array
        ICASSO's index: mean |cos| within the cluster minus mean |cos| to the atoms outside it.
    labels : (R, n) array
        The cluster of each atom of each run, as a row of `atoms`.
    """

    atoms: Array
    reliability: Array
    index: Array
    labels: Indices


def stability(runs: Sequence[ArrayLike]) -> Stability:
    """Cluster the atoms of several runs, and measure how reliably each is found again.

    Parameters
    ----------
    runs : sequence of R ≥ 2 arrays of shape (n, M)
        Atoms as rows, one array for each run, for instance the 50 strongest of transforms
        learned from different starts (`strongest_atoms`).

    Returns
    -------
    Stability
        All clusters of average linkage with a mean |cos| of 0.7 or more, the most reliable first.

    Examples
    --------
    >>> import numpy as np
    >>> from phinmf.analysis import stability
    >>> run = np.eye(4)[:2]
    >>> stability([run, -run[::-1], run]).reliability.tolist()
    [1.0, 1.0]
    """
    sets = [unit_atoms(f"runs[{r}]", run) for r, run in enumerate(runs)]
    shapes = {atoms.shape for atoms in sets}
    if len(sets) < 2 or len(shapes) > 1:
        raise ValueError(
            f"runs has {len(sets)} sets of atoms of shapes {sorted(shapes)}, but at least two"
            " of the same shape are needed"
        )
    R, n = len(sets), len(sets[0])
    pool, run_of = np.concatenate(sets), np.repeat(np.arange(R), n)
    S = np.minimum(np.abs(pool @ pool.T), 1.0)
    labels = _clusters(S)
    found = []
    for c in range(labels.max() + 1):
        inside = labels == c
        within = S[np.ix_(inside, inside)]
        centre = np.flatnonzero(inside)[within.sum(axis=0).argmax()]
        best = np.zeros(R)  # |cos| of the centre to the member from each run
        np.maximum.at(best, run_of[inside], S[centre, inside])
        outside = S[np.ix_(inside, ~inside)].mean() if not inside.all() else 0.0
        others = np.delete(best, run_of[centre]).mean()
        found.append((others, within.mean() - outside, centre, c))
    found.sort(key=lambda cluster: -cluster[0])
    reliability, index, centres, order = (np.array(column) for column in zip(*found, strict=True))
    return Stability(pool[centres], reliability, index, order.argsort()[labels].reshape(R, n))


def _clusters(S: Array) -> Indices:
    """Return the number of the cluster of each atom, by average linkage."""
    distance = 1 - S
    np.fill_diagonal(distance, 0)
    tree = linkage(squareform(distance, checks=False), "average")
    return np.asarray(fcluster(tree, 1 - ALIKE, "distance") - 1, dtype=np.intp)
