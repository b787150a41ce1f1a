"""Which atoms every start finds, in the spirit of ICASSO (Himberg et al. 2004)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

#: Minimum mean |cos| within a cluster: cos 45°; an orthonormal set has one atom within 45°.
ALIKE = 0.7


class Stability(NamedTuple):
    """Clusters of atoms from R runs, the most reliable first."""

    atoms: np.ndarray  #: (c, M): the member of each cluster that is most similar to the others
    #: (c,), from 0 to 1: the mean over all other runs of |cos| between that atom and the cluster's
    #: member from that run, 0 where a run has none
    reliability: np.ndarray
    labels: np.ndarray  #: (R, n): the cluster of each atom of each run, as a row of `atoms`


def stability(runs: Sequence[np.ndarray]) -> Stability:
    """Cluster the atoms of R ≥ 2 runs, each n orthonormal rows (n, M), by average linkage."""
    R, n = len(runs), len(runs[0])
    pool, run_of = np.concatenate(runs), np.repeat(np.arange(R), n)
    S = np.minimum(np.abs(pool @ pool.T), 1.0)
    distance = 1 - S
    np.fill_diagonal(distance, 0)
    tree = linkage(squareform(distance, checks=False), "average")
    labels = fcluster(tree, 1 - ALIKE, "distance") - 1
    clusters = []
    for c in range(labels.max() + 1):
        inside = labels == c
        within = S[np.ix_(inside, inside)]
        centre = np.flatnonzero(inside)[within.sum(axis=0).argmax()]
        best = np.zeros(R)  # |cos| of the centre to the member from each run
        np.maximum.at(best, run_of[inside], S[centre, inside])
        clusters.append((np.delete(best, run_of[centre]).mean(), centre, c))
    clusters.sort(key=lambda cluster: -cluster[0])
    reliability, centres, order = (np.array(column) for column in zip(*clusters, strict=True))
    return Stability(pool[centres], reliability, order.argsort()[labels].reshape(R, n))
