"""The solvers of phinmf, all from the same start."""

import warnings

from benchopt import BaseSolver
from sklearn.exceptions import ConvergenceWarning

import phinmf

METHOD = phinmf.PAPER["method"]  #: one NMF step of exponent ½, then five steps on Φ; no annealing
SETTINGS = {
    "paper": {"solver": "quasi-newton", "method": METHOD},
    "quasi-newton": {"solver": "quasi-newton"},
    "projected-gradient": {"solver": "projected-gradient"},
    "jacobi": {"solver": "jacobi"},
    "lbfgs, not annealed": {"method": phinmf.Method(anneal=False)},
    "lbfgs": {},
}


class Solver(BaseSolver):
    """`tl_nmf` with so many outer iterations; the default schedule is compressed into them."""

    name = "phinmf"
    requirements = ["pip::phinmf"]
    parameters = {"setting": list(SETTINGS)}
    sampling_strategy = "iteration"

    def set_objective(self, Y, sparsity, pairs, floor, start):
        """Take the problem and its start."""
        self.Y, self.start = Y, start
        self.options = {"sparsity": sparsity, "pairs": pairs, "floor": floor, "tol": 0,
                        "random_state": 0}  # fmt: skip

    def warm_up(self):
        """Compile, outside the clock."""
        self.run(1)

    def run(self, n_iter):
        """Fit from the start."""
        K = self.start["W"].shape[1]
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            self.result = phinmf.tl_nmf(
                self.Y, K, max_iter=n_iter, **self.options, **self.start, **SETTINGS[self.setting]
            )

    def get_result(self):
        """Return the factors."""
        return {"Phi": self.result.Phi, "W": self.result.W, "H": self.result.H}
