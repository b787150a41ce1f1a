"""Objective C of the paper, per entry, in the form of benchopt (https://benchopt.github.io)."""

import numpy as np
from benchopt import BaseObjective

from phinmf.linalg.manifold import random_orthogonal


class Objective(BaseObjective):
    """Itakura–Saito divergence of the power of ΦY and WH, with the sparse penalty.

    The objectives of single atoms and of pairs measure different things: they are two objectives,
    and every solver runs on both.
    """

    name = "NMF with transform learning"
    requirements = ["pip::phinmf"]
    min_benchopt_version = "1.7"
    parameters = {"sparsity": [10.0], "pairs": [False, True], "seed": [0]}
    floor = 1e-8

    def set_data(self, Y, n_components):
        """Take frames (M, N), or (C, M, N), whose channels share Φ, W and H."""
        self.Y = Y / np.sqrt(np.mean(np.square(Y)))  # at unit power
        self.n_components = n_components

    def get_objective(self):
        """The problem, and the start that all solvers share."""
        M, N = self.Y.shape[-2:]
        rng = np.random.default_rng(self.seed)
        W = rng.random((M // 2 if self.pairs else M, self.n_components))
        start = {
            "init": random_orthogonal(M, rng),
            "W": W / W.sum(axis=0),
            "H": np.full((self.n_components, N), len(W) / self.n_components),
        }
        return {"Y": self.Y, "sparsity": self.sparsity, "pairs": self.pairs, "floor": self.floor,
                "start": start}  # fmt: skip

    def evaluate_result(self, Phi, W, H):
        """C as printed in the paper, with the floor, divided by the number of entries."""
        atoms = 2 if self.pairs else 1
        power = np.square(Phi @ self.Y)
        power = power.reshape(-1, *power.shape[-2:]).mean(axis=0)
        power = power.reshape(len(W), atoms, -1).mean(axis=1)
        ratio = (power + self.floor) / (W @ H + self.floor)
        penalty = self.sparsity * (W.sum(axis=0) * H.sum(axis=1)).sum()
        return {"value": ((ratio - np.log(ratio) - 1).sum() + penalty) / power.size}

    def get_one_result(self):
        """A point of the right shapes, for the tests of benchopt."""
        start = self.get_objective()["start"]
        return {"Phi": start["init"], "W": start["W"], "H": start["H"]}
