"""The annealing schedule; a result is never worse than its start."""

import numpy as np
import pytest
from problems import notes

import phinmf
from phinmf import Anneal, Method, Status
from phinmf.algorithm.options import Options
from phinmf.algorithm.schedule import SINGLE_SERVES, Schedule

SHAPE = (1, 100, 5000)


def schedule(anneal, floor, shape, max_iter, max_time):
    options = Options(
        method=Method(anneal=anneal), floor=floor, max_iter=max_iter, max_time=max_time, tol=0
    )
    return Schedule(options, shape, np.dtype(np.float64))


def floors(s, n, seconds=0.0):
    return [s.phase(t, seconds).floor for t in range(n)]


def test_floors_fall_to_the_knee_and_then_to_the_target():
    s = schedule(Anneal(length=50), 1e-10, SHAPE, 100, None)
    falling = floors(s, 50)
    assert falling[0] == Anneal().start
    assert (np.diff(falling) < 0).all()
    assert Anneal().knee < falling[-1] < 10 * Anneal().knee
    assert floors(s, 60)[50:] == [1e-10] * 10
    phases = [s.phase(t, 0.0) for t in range(60)]
    assert [p.final for p in phases] == [False] * 50 + [True] * 10
    assert [p.stage.dtype.name for p in phases] == ["float32"] * 50 + ["float64"] * 10
    assert all(p.high == (p.floor > Anneal().all_frames) for p in phases)


@pytest.mark.parametrize("max_iter", [1, 2, 3, 10, 39])
def test_a_short_run_compresses_the_schedule(max_iter):
    s = schedule(Anneal(), 1e-8, SHAPE, max_iter, None)
    last = s.phase(max_iter - 1, 0.0)
    assert last.final or max_iter == 1
    assert s.phase(0, 0.0).floor == Anneal().start


def test_a_time_limit_compresses_the_schedule():
    s = schedule(Anneal(), 1e-8, SHAPE, 1000, 10.0)
    assert s.phase(0, 0.0).floor == Anneal().start
    assert s.phase(1, 5.0).floor < s.phase(1, 2.0).floor < Anneal().start
    assert s.phase(1, 7.01).final


def test_the_least_time_is_not_spent_on_all_frames():
    """Without time for a second iteration, the first one sees the sample, as without a limit."""
    for seconds in (0.0, 1e-9, 10.0, None):
        assert schedule(Anneal(), 1e-8, SHAPE, 1000, seconds).phase(0, 1e-6).stage.n_frames == 300


def test_small_recordings_are_not_sampled_and_high_targets_not_annealed():
    sizes = {500: None, 700: 300}
    for N, size in sizes.items():
        assert schedule(Anneal(), 1e-8, (1, 100, N), 99, None).sample_size == size
    assert schedule(Anneal(), 0.2, SHAPE, 99, None).phase(0, 0.0).final
    exact = schedule(Anneal(knee=1e-16), 1e-18, SHAPE, 100, None)
    for phase in (exact.phase(t, 0.0) for t in range(40)):
        assert (phase.stage.dtype == np.float32) == (phase.floor >= SINGLE_SERVES)


@pytest.mark.parametrize("solver", ["lbfgs", None, "quasi-newton", "projected-gradient", "jacobi"])
def test_lbfgs_and_plain_nmf_anneal_by_default(solver):
    floors = phinmf.tl_nmf(notes(), 2, solver=solver, max_iter=5, tol=0).history.floor
    assert floors[0] == (Anneal().start if solver in ("lbfgs", None) else 1e-8)
    assert floors[-1] == 1e-8


def test_a_fixed_transform_with_the_same_schedule_parts_two_close_notes_as_well():
    """One note, then the other, then both; a window of 40 ms does not resolve them."""
    rng, t = np.random.default_rng(0), np.arange(15_000) / 5000
    tones = [np.sin(2 * np.pi * f * t) + 0.5 * np.sin(4 * np.pi * f * t) for f in (440.0, 466.16)]
    sources = np.array([(t < 1) | (t >= 2), t >= 1]) * tones
    Y = phinmf.to_frames(sources.sum(axis=0) + 1e-3 * rng.standard_normal(len(t)), 200)

    def sdr(**how):
        r = phinmf.tl_nmf(Y, 2, sparsity=0, random_state=0, max_iter=60, tol=0, **how)
        parts = np.array([phinmf.from_frames(part, len(t)) for part in r.separate(Y)])
        errors = [np.square(sources - p).sum(axis=1) for p in (parts, parts[::-1])]
        return max(np.mean(10 * np.log10(np.square(sources).sum(axis=1) / e)) for e in errors)

    learned = sdr()
    assert learned > 10
    assert sdr(solver=None) > learned - 3
    assert sdr(solver=None, method=Method(anneal=False)) < 6


@pytest.mark.parametrize("init", ["dct", "random"])
@pytest.mark.parametrize("limit", [{"max_iter": 1}, {"max_iter": 3}, {"max_time": 0.05}])
def test_a_run_cut_short_is_no_worse_than_its_start(init, limit):
    """Also from the result of a longer run, the hardest start to improve on."""
    Y = notes(n=8000)
    for how in ({}, {"sparsity": 150.0}, {"divergence": "gaussian"}):
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
