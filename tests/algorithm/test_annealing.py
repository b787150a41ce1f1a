"""The annealing schedule; a result is never worse than its start."""

import numpy as np
import pytest
from problems import notes

import phinmf
from phinmf import Anneal, Method, Status
from phinmf.algorithm.options import Options
from phinmf.algorithm.schedule import SINGLE_SERVES, Schedule
from phinmf.inits import Frames


def phases(n=1, anneal=None, floor=1e-8, shape=(1, 100, 5000), seconds=0.0, **limits):
    """Phases of the first n outer iterations, each of which takes that many seconds."""
    limits = {"max_iter": 1000} | limits
    options = Options(method=Method(anneal=anneal or Anneal()), floor=floor, tol=0, **limits)
    schedule = Schedule(options, Frames(np.broadcast_to(0.0, shape)))
    return [schedule.phase(t, t * seconds) for t in range(n)]


def test_floors_fall_to_the_knee_and_then_to_the_target():
    first = phases(60, Anneal(length=50), floor=1e-10, max_iter=100)
    falling = [phase.floor for phase in first[:50]]
    assert falling[0] == Anneal().start
    assert (np.diff(falling) < 0).all()
    assert Anneal().knee < falling[-1] < 10 * Anneal().knee
    assert [phase.floor for phase in first[50:]] == [1e-10] * 10
    assert [phase.final for phase in first] == [False] * 50 + [True] * 10
    assert [phase.stage.dtype.name for phase in first] == ["float32"] * 50 + ["float64"] * 10
    assert all(phase.high == (phase.floor > Anneal().all_frames) for phase in first)
    for phase in phases(40, Anneal(knee=1e-16), floor=1e-18, max_iter=100):
        assert (phase.stage.dtype == np.float32) == (phase.floor >= SINGLE_SERVES)
    assert phases(floor=0.2)[0].final  # a high target is not annealed


@pytest.mark.parametrize("max_iter", [1, 2, 3, 10, 39])
def test_a_short_run_compresses_the_schedule(max_iter):
    first = phases(max_iter, max_iter=max_iter)
    assert first[0].floor == Anneal().start
    assert first[-1].final or max_iter == 1


def test_a_time_limit_compresses_the_schedule():
    slow, fast = (phases(2, max_time=10.0, seconds=s) for s in (5.0, 2.0))
    assert slow[1].floor < fast[1].floor < slow[0].floor == Anneal().start
    assert phases(2, max_time=10.0, seconds=7.01)[1].final


def test_early_iterations_learn_from_a_sample_of_many_frames():
    """Also the first one of a run without time for a second."""
    for seconds in (0.0, 1e-9, 10.0, None):
        assert phases(max_time=seconds)[0].stage.n_frames == 300
    for N, n_frames in ((599, None), (600, 300)):
        assert phases(shape=(1, 100, N))[0].stage.n_frames == n_frames


@pytest.mark.parametrize("solver", ["lbfgs", None, "quasi-newton", "projected-gradient", "jacobi"])
def test_lbfgs_and_plain_nmf_anneal_by_default(solver):
    floors = phinmf.tl_nmf(notes(), 2, solver=solver, max_iter=5, tol=0).history.floor
    assert floors[0] == (Anneal().start if solver in ("lbfgs", None) else 1e-8)
    assert floors[-1] == 1e-8


@pytest.mark.parametrize("init", ["dct", "random"])
@pytest.mark.parametrize("limit", [{"max_iter": 1}, {"max_iter": 3}, {"max_time": 0.05}])
def test_a_run_cut_short_is_no_worse_than_its_start(init, limit):
    """Also from the result of a longer run, the hardest start to improve on."""
    Y = notes(n=8000)
    for how in ({"sparsity": 150.0}, {"divergence": "gaussian"}):
        good = phinmf.tl_nmf(Y, 3, init=init, random_state=0, max_iter=80, tol=0, **how)
        start = {"init": good.Phi, "W": good.W, "H": good.H}
        r = phinmf.tl_nmf(Y, 3, tol=0, **start, **limit, **how)
        assert r.objective <= r.history.start + 1e-9 * abs(r.history.start)
        assert r.history.start == pytest.approx(good.objective, rel=1e-9)
        fresh = phinmf.tl_nmf(Y, 3, init=init, random_state=1, tol=0, **limit, **how)
        assert fresh.objective < fresh.history.start


def test_activations_that_died_at_a_high_floor_come_back():
    """At a high floor a strong penalty switches quiet frames off; the target floor wants them."""
    Y = notes()
    r = phinmf.tl_nmf(Y, 2, sparsity=150.0, random_state=0)
    assert (r.H.sum(axis=0) > 1e-6 * r.H.max()).mean() > 0.5
    plain = phinmf.tl_nmf(Y, 2, sparsity=150.0, random_state=0, solver=None, max_iter=300)
    assert r.objective < plain.objective


def test_the_stopping_rule_counts_only_at_the_target_floor():
    r = phinmf.tl_nmf(notes(), 3, random_state=0, tol=0.5)
    assert r.status is Status.SMALL_DECREASE
    h, first = r.history, Anneal().length
    assert (h.floor[:first] > 1e-8).all()
    assert (h.floor[first:] == 1e-8).all()
    decrease = h.target_objective[first - 1 : -1] - h.objective[first:]
    small = decrease <= 0.5 * h.objective[first:]
    assert small.tolist() == [False] * (len(small) - 1) + [True]


def test_annealing_needs_few_evaluations_to_beat_quasi_newton():
    """Numbers of evaluations do not depend on the speed of the machine."""
    Y = notes(n=6000)
    how = {"n_components": 3, "sparsity": 10.0, "init": "random", "random_state": 0, "tol": 0}
    plain = phinmf.tl_nmf(Y, solver="quasi-newton", max_iter=100, **how)
    annealed = phinmf.tl_nmf(Y, max_iter=50, **how)
    assert annealed.objective < plain.objective
    assert annealed.history.evaluations[-1] <= 200
    assert plain.history.evaluations[-1] > 300
