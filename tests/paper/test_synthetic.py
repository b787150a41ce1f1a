"""§4.1 of the paper: V̂ = |Φ*Y|², a start close to Φ*, the same for every solver."""

import numpy as np
import pytest
from problems import synthetic

import phinmf

pytestmark = pytest.mark.full

SOLVERS = ["quasi-newton", "projected-gradient", "jacobi"]
FLOOR = phinmf.PAPER["floor"]


def run(solver, M, seed, budget):
    """L/(MN) and the signs of X still flipped after `budget` evaluations of the loss."""
    Y, V_hat, start, Phi_star = synthetic(M, 1000, seed)
    best = {"loss": np.nan, "Phi": start}

    def within_budget(state):
        if state.history[-1].evaluations > budget:
            return True
        best.update(loss=state.objective / Y.size, Phi=state.Phi)
        return False

    phinmf.learn_transform(
        Y, V_hat, solver=solver, init=start, floor=FLOOR, tol=0, max_iter=10**6,
        method=phinmf.Method(n_iter_transform=1), callback=within_budget,
    )  # fmt: skip
    flipped = int((np.sign(best["Phi"] @ Y) != np.sign(Phi_star @ Y)).sum())
    return best["loss"], flipped


@pytest.mark.parametrize(("M", "budget"), [(10, 400), (100, 400)])
def test_quasi_newton_is_below_the_others_at_equal_evaluations(M, budget, record_property):
    median = {}
    for solver in SOLVERS:
        runs = np.array([run(solver, M, seed, budget) for seed in range(5)])
        median[solver] = np.median(runs[:, 0])
        record_property(f"{solver} M={M} L/(MN)", float(median[solver]))
        record_property(f"{solver} M={M} flipped signs", runs[:, 1].tolist())
        print(f"M={M:4d} {solver:20s} L/(MN) = {median[solver]:.2e}, signs flipped {runs[:, 1]}")
    assert median["quasi-newton"] < median["projected-gradient"]
    assert median["quasi-newton"] < median["jacobi"]


@pytest.mark.parametrize(("M", "least"), [(10, 1e-12), (100, 1e-10)])
def test_annealing_reaches_the_minimum(M, least):
    """Where quasi-Newton stalls behind flipped signs, the annealed floor lets the signs pass."""
    for seed in range(3):
        Y, V_hat, start, Phi_star = synthetic(M, 1000, seed)
        r = phinmf.learn_transform(
            Y,
            V_hat,
            init=start,
            floor=FLOOR,
            method=phinmf.Method(anneal=True),
            tol=0,
            max_iter=300,
            random_state=0,
        )
        flipped = (np.sign(r.Phi @ Y) != np.sign(Phi_star @ Y)).sum()
        print(f"M={M:4d} seed {seed}: L/(MN) = {r.objective / Y.size:.1e}, signs flipped {flipped}")
        assert r.objective / Y.size < least
