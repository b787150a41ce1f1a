"""Frames that a hidden transform made: normal, with variances W̄H̄ in a random orthogonal one."""

import numpy as np
from benchopt import BaseDataset

from phinmf.linalg.manifold import random_orthogonal


class Dataset(BaseDataset):
    """Ten frames for each sample of a frame."""

    name = "synthetic"
    requirements = ["pip::phinmf"]
    parameters = {"M": [20, 100], "K": [3], "seed": [0]}
    test_parameters = {"M": [8]}

    def get_data(self):
        """Return frames and the true number of components."""
        rng, N = np.random.default_rng(self.seed), 10 * self.M
        W, H = rng.gamma(0.5, 2, (self.M, self.K)), rng.gamma(0.5, 2, (self.K, N))
        X = rng.standard_normal((self.M, N)) * np.sqrt(W @ H)
        return {"Y": random_orthogonal(self.M, rng) @ X, "n_components": self.K}
