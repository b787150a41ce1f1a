"""One transform from several starts: canonical planes, the average of their atoms, then a fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from planes import canonical
from setting import Setting

import phinmf
from phinmf.analysis import match_atoms
from phinmf.linalg.manifold import polar

ROUNDS = 4  #: number of times that every transform is matched to the current average
#: A low floor from the start keeps the atoms that the starts have in common.
REFINE: dict[str, Any] = {
    "method": phinmf.Method(anneal=phinmf.Anneal(start=1e-3, length=40), n_iter_nmf=8)
}


def average_transform(transforms: Sequence[np.ndarray]) -> np.ndarray:
    """Return the orthogonal matrix nearest to the mean of (M, M) transforms with matched atoms.

    Order and signs of the atoms are those of the first transform.
    """
    mean = transforms[0].astype(np.float64)
    for _ in range(ROUNDS):
        total = np.zeros_like(mean)
        for Phi in transforms:
            match = match_atoms(mean, Phi)
            aligned = Phi[match.second[match.first.argsort()]]
            total += np.sign((aligned * mean).sum(axis=1))[:, None] * aligned
        mean = polar(total)
    return mean


def canonical_average(transforms: Sequence[np.ndarray]) -> np.ndarray:
    """Return the average of transforms after the planes of each have been made canonical."""
    return average_transform([canonical(Phi).atoms for Phi in transforms])


def starts(setting: Setting, group: int) -> list[np.ndarray]:
    """The transforms of one group of starts; groups are disjoint."""
    size = setting.budget.consensus
    seeds = range(group * size, (group + 1) * size)
    return [setting.fit(setting.budget.medium, random_state=seed).Phi for seed in seeds]


def consensus(setting: Setting, group: int, canonical_planes: bool = True) -> phinmf.Result:
    """The fit from the average of one group of starts, with canonical planes or without."""
    average = canonical_average if canonical_planes else average_transform
    name = f"recording, group {group}, {average.__name__}"
    return setting.fit(REFINE, init=average(starts(setting, group)), name=name)
