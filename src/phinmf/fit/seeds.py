"""Independent random generators from one random state."""

from __future__ import annotations

import numpy as np

from phinmf import checks
from phinmf._types import RandomState


def spawn(random_state: RandomState, n: int) -> list[np.random.Generator]:
    """Return n independent generators, so that drawing from one does not change the others."""
    entropy = checks.generator(random_state).integers(2**63, size=4)
    return [np.random.default_rng(s) for s in np.random.SeedSequence(list(entropy)).spawn(n)]
