"""§4.1 of the paper: V̂ = |Φ*Y|², a start close to Φ*, the same for every solver."""

import numpy as np
import pytest
from problems import synthetic

import phinmf

pytestmark = pytest.mark.full

SOLVERS = ["quasi-newton", "projected-gradient", "jacobi"]
FLOOR = phinmf.PAPER["floor"]


def run(solver, M, seed, budget):
    """L/(MN) after `budget` evaluations of the loss."""
    Y, V_hat, start, _ = synthetic(M, 1000, seed)
    best = [np.nan]

    def within_budget(state):
        if state.history[-1].evaluations > budget:
            return True
        best[0] = state.objective / Y.size
        return False

    phinmf.learn_transform(
        Y, V_hat, solver=solver, init=start, floor=FLOOR, tol=0, max_iter=10**6,
        method=phinmf.Method(n_iter_transform=1), callback=within_budget,
    )  # fmt: skip
    return best[0]


@pytest.mark.parametrize(("M", "budget"), [(10, 400), (100, 400)])
def test_quasi_newton_is_below_the_others_at_equal_evaluations(M, budget):
    median = {s: np.median([run(s, M, seed, budget) for seed in range(5)]) for s in SOLVERS}
    assert median["quasi-newton"] < median["projected-gradient"]
    assert median["quasi-newton"] < median["jacobi"]


@pytest.mark.parametrize(("M", "least"), [(10, 1e-12), (100, 1e-10)])
def test_annealing_reaches_the_minimum(M, least):
    """Where quasi-Newton stalls behind flipped signs, the annealed floor lets the signs pass."""
    for seed in range(3):
        Y, V_hat, start, _ = synthetic(M, 1000, seed)
        r = phinmf.learn_transform(
            Y, V_hat, init=start, floor=FLOOR, method=phinmf.Method(anneal=True), tol=0,
            max_iter=300, random_state=0,
        )  # fmt: skip
        assert r.objective / Y.size < least
