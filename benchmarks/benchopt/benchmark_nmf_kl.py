"""A solver file for the public benchmark of NMF with the Kullback–Leibler divergence.

Copy it to solvers/ of https://github.com/cohenjer/benchmark_nmf_kl. phinmf factors the squares of
coefficients: here those of √X in the identity, with nothing learned.
"""

import warnings

import numpy as np
from benchopt import BaseSolver
from sklearn.exceptions import ConvergenceWarning

import phinmf


class Solver(BaseSolver):
    """Multiplicative updates, H before W, compiled; one update of each per iteration."""

    name = "phinmf"
    requirements = ["pip::phinmf"]
    sampling_strategy = "iteration"

    def set_objective(self, X, rank, factors_init):
        """Take the matrix and the start."""
        self.Y, self.rank = np.sqrt(X), rank
        W, H = factors_init
        self.start = {"init": np.eye(len(X)), "W": W, "H": H}

    def warm_up(self):
        """Compile, outside the clock."""
        self.run(1)

    def run(self, n_iter):
        """Update the factors from the start; a zero of X needs a floor, which is a tiny one."""
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            self.result = phinmf.tl_nmf(
                self.Y, self.rank, solver=None, divergence="kullback-leibler", sparsity=0, tol=0,
                floor=1e-15, method=phinmf.Method(anneal=False, n_iter_nmf=1), max_iter=n_iter,
                **self.start,
            )  # fmt: skip

    def get_result(self):
        """Return the factors."""
        return {"W": self.result.W, "H": self.result.H}
