"""§4.1 of the paper: V̂ = |Φ*Y|², a start close to Φ*, the same for every solver."""

import numpy as np
import pytest
from problems import synthetic

import phinmf

pytestmark = pytest.mark.full

FLOOR = phinmf.PAPER["floor"]


@pytest.mark.parametrize("M", [10, 100])
def test_quasi_newton_is_below_the_others_at_equal_evaluations(M):
    """The least L/(MN) that at most 400 evaluations of the loss reach."""

    def reached(solver, seed):
        Y, V_hat, start, _ = synthetic(M, 1000, seed)
        how = {"method": phinmf.Method(n_iter_transform=1), "tol": 0, "max_iter": 10**6}
        history = phinmf.learn_transform(
            Y, V_hat, solver=solver, init=start, floor=FLOOR, **how,
            callback=lambda state: state.history[-1].evaluations > 400,
        ).history  # fmt: skip
        return history.objective[history.evaluations <= 400].min() / Y.size

    solvers = ("quasi-newton", "projected-gradient", "jacobi")
    medians = [np.median([reached(s, seed) for seed in range(5)]) for s in solvers]
    assert medians[0] < min(medians[1:])


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
