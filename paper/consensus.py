"""One transform from many starts: average the atoms that they agree on, then go on from there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from setting import Setting

from phinmf import Anneal
from phinmf.analysis import match_atoms
from phinmf.manifold import polar

ROUNDS = 4  #: of matching every run to the average so far
REFINE = {"anneal": Anneal(start=1e-3, length=40)}  #: a floor low enough to keep what was agreed


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


def consensus(setting: Setting, number: int) -> list[np.ndarray]:
    """So many consensus transforms, each from starts of its own."""
    size = setting.budget.consensus
    found = []
    for group in range(number):
        seeds = range(group * size, (group + 1) * size)
        mean = average([setting.fit({}, random_state=seed).Phi for seed in seeds])
        found.append(setting.fit(REFINE, init=mean, name=f"recording, consensus {group}").Phi)
    return found
