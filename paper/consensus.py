"""One transform from many starts: canonical planes, the average of their atoms, then a fit."""

from __future__ import annotations

import numpy as np
from setting import Setting, quietly

import phinmf
from phinmf.analysis import average_transform
from phinmf.analysis import consensus as consensus_of
from phinmf.analysis.consensus import REFINE


def starts(setting: Setting, group: int) -> list[np.ndarray]:
    """The transforms of one group of starts; groups are disjoint."""
    size = setting.budget.consensus
    seeds = range(group * size, (group + 1) * size)
    return [setting.fit(setting.budget.medium, random_state=seed).Phi for seed in seeds]


def consensus(setting: Setting, group: int) -> phinmf.Result:
    """The consensus of one group of starts."""
    key = "consensus", group
    if key not in setting.fits:
        how = {"floor": phinmf.PAPER["floor"], "sparsity": 150.0, "random_state": 0}
        fits, Y, K = starts(setting, group), setting.recording, setting.budget.K
        setting.fits[key] = quietly(consensus_of, fits, Y, K, **how)
    return setting.fits[key]


def consensus_as_found(setting: Setting, group: int) -> phinmf.Result:
    """The same without canonical planes, for comparison."""
    mean = average_transform(starts(setting, group))
    return setting.fit(REFINE, init=mean, name=f"recording, group {group}")
