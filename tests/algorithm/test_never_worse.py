"""With faulty code a result is still not worse than its start; a rising objective ends the run."""

import time

import numpy as np
import pytest
from problems import notes
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf import Method, Status, tl_nmf
from phinmf.algorithm import nmf as readable_nmf
from phinmf.engines.array import ArrayEngine

HOW = {"sparsity": 5.0, "random_state": 0}
ANNEALED = pytest.mark.parametrize("anneal", [True, False])


@ANNEALED
def test_a_faulty_nmf_step_returns_the_start(monkeypatch, anneal):
    Y = notes(M=16, n=3000)
    start = tl_nmf(Y, 3, max_iter=0, tol=0, **HOW)
    monkeypatch.setattr(readable_nmf, "multiply", lambda F, *_: F[::-1].copy() + 1e3)
    with pytest.warns(ConvergenceWarning, match="this is the start itself"):
        r = tl_nmf(Y, 3, method=Method(anneal=anneal), max_iter=10, tol=0, engine="array", **HOW)
    assert r.status is Status.NOT_BETTER
    assert not r.converged
    assert r.objective <= r.history.start
    for ours, theirs in ((r.Phi, start.Phi), (r.W, start.W), (r.H, start.H)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("engine", ["array", "compiled"])
@pytest.mark.parametrize("solver", ["lbfgs", None])
@pytest.mark.parametrize("good", [0, 14])
def test_nan_ends_the_run_at_the_last_good_iterate(monkeypatch, good, solver, engine):
    """At the target of an annealed run, and in the first outer iteration."""
    Y, states = notes(M=16, n=3000), []
    update = readable_nmf.multiply

    def until(state):
        states.append(state)

    def multiply(F, *rest):
        return update(F, *rest) * (np.nan if len(states) >= good else 1)

    monkeypatch.setattr(readable_nmf, "multiply", multiply)
    how = {"solver": solver, "engine": engine, "max_iter": 20, "tol": 0, "callback": until}
    anneal = phinmf.Anneal(length=10, sample=0) if solver and good else False
    with pytest.warns(ConvergenceWarning, match="NaN or infinite"):
        r = tl_nmf(Y, 3, method=Method(anneal=anneal), **how, **HOW)
    assert r.status is Status.NOT_FINITE
    assert r.n_iter == len(r.history) == good
    before = r.history.target_objective[-1] if good else r.history.start
    assert r.objective == pytest.approx(before, rel=1e-9)
    assert np.isfinite(r.H).all()


def test_an_objective_that_rises_ends_the_run(monkeypatch):
    """The update is right 29 times, then wrong by 20 percent in every other row."""
    update, calls = readable_nmf.multiply, []

    def multiply(F, *rest):
        calls.append(1)
        wrong = 0.2 * (len(calls) >= 30) * (np.arange(len(F)) % 2)
        return update(F, *rest) * (1 + wrong)[:, None]

    monkeypatch.setattr(readable_nmf, "multiply", multiply)
    how = HOW | {"solver": None, "method": Method(anneal=False), "engine": "array", "tol": 0}
    with pytest.warns(ConvergenceWarning, match="the objective rose"):
        r = tl_nmf(notes(M=16, n=3000), 3, max_iter=500, **how)
    assert r.status is Status.ROSE
    assert 1 < r.n_iter < 40
    assert r.objective < r.history.start


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("solver", [*phinmf.solvers.SOLVERS, None])
def test_rounding_is_not_taken_for_a_rise(solver, dtype):
    """The objective of a converged run goes up and down by rounding."""
    Y = notes(M=12, n=1500).astype(dtype)
    r = tl_nmf(Y, 2, solver=solver, max_iter=300, tol=0, method=Method(anneal=False), **HOW)
    assert r.status in (Status.MAX_ITER, Status.LINE_SEARCH, Status.SMALL_DECREASE)


@pytest.mark.parametrize(
    ("kind", "name"),
    [(ArrayEngine, "nmf_pass"), (phinmf.engines.array.ArrayObjective, "evaluate")],
)
@pytest.mark.parametrize("solver", ["lbfgs", "projected-gradient"])
def test_max_time_ends_an_outer_iteration_of_many_slow_steps(monkeypatch, solver, kind, name):
    """The time is checked after every step, not only after every outer iteration."""
    Y, how = notes(M=16, n=3000), HOW | {"solver": solver, "engine": "array"}
    tl_nmf(Y, 3, max_iter=1, tol=0, **how)  # so that all modules are imported
    whole = getattr(kind, name)
    monkeypatch.setattr(kind, name, lambda *args, **how: time.sleep(0.1) or whole(*args, **how))
    method = Method(n_iter_nmf=20, n_iter_transform=20, anneal=False)
    clock = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="max_time"):
        r = tl_nmf(Y, 3, max_time=0.3, method=method, **how)
    assert r.status is Status.MAX_TIME
    assert r.n_iter == 1
    assert time.perf_counter() - clock < 1.8  # where all of it would take 2 s and more
    assert r.objective <= r.history.start
