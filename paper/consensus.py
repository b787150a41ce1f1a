"""One transform from many starts: average the atoms they have in common, then continue."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from setting import Setting

import phinmf
from phinmf import Anneal
from phinmf.analysis import match_atoms
from phinmf.linalg.manifold import polar

ROUNDS = 4  #: number of times that every run is matched to the current average
#: A low floor from the start keeps the atoms that the starts have in common.
REFINE = {"anneal": Anneal(start=1e-3, length=40), "n_iter_nmf": 8}


def average(transforms: Sequence[np.ndarray]) -> np.ndarray:
    """The orthogonal matrix nearest to the mean of transforms, atoms matched and signs aligned."""
    mean = transforms[0]
    for _ in range(ROUNDS):
        total = np.zeros_like(mean)
        for Phi in transforms:
            match = match_atoms(mean, Phi)
            aligned = Phi[match.second[match.first.argsort()]]
            total += np.sign((aligned * mean).sum(axis=1))[:, None] * aligned
        mean = polar(total)
    return mean


def consensus(setting: Setting, group: int) -> phinmf.Result:
    """The fit that continues from the average of the starts of one group; groups are disjoint."""
    size = setting.budget.consensus
    seeds = range(group * size, (group + 1) * size)
    fits = [setting.fit(setting.budget.medium, random_state=seed) for seed in seeds]
    mean = average([r.Phi for r in fits])
    return setting.fit(REFINE, init=mean, name=f"recording, group {group}")
