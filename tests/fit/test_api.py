"""Starting, stopping and telling the story."""

import numpy as np
import pytest
from problems import notes, synthetic
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf import Method, Status
from phinmf.linalg.manifold import random_orthogonal
from phinmf.solvers import QuasiNewton


def test_one_row_per_outer_iteration():
    r = phinmf.tl_nmf(notes(), 3, solver="quasi-newton", random_state=0, max_iter=7, tol=0)
    h = r.history
    assert len(h) == len(h.objective) == len(h.steps) == r.n_iter == 7
    assert (np.diff(h.seconds) > 0).all()
    assert (np.diff(h.evaluations) >= 1).all()
    assert all(len(steps) == 2 for steps in h.steps)
    assert h[-1].objective == h.objective[-1]
    assert "7 outer iterations" in repr(h)
    with pytest.raises(AttributeError, match="it has objective, divergence"):
        _ = h.nonsense


def test_convergence_has_a_reason():
    r = phinmf.tl_nmf(notes(), 3, solver="quasi-newton", random_state=0, tol=1e-3)
    assert r.status is Status.SMALL_DECREASE
    assert r.converged
    last = r.history.objective
    assert last[-2] - last[-1] <= 1e-3 * abs(last[-1])
    assert "converged" in repr(r)


def test_not_converged_is_a_warning_and_a_status():
    with pytest.warns(ConvergenceWarning, match="not converged to tol=1e-12; stopped: max_iter"):
        r = phinmf.tl_nmf(notes(), 3, random_state=0, max_iter=2, tol=1e-12)
    assert r.status is Status.MAX_ITER
    assert not r.converged


def test_callback_stops():
    seen = []

    def callback(state):
        seen.append((state.iteration, state.objective, state.Phi.shape))
        return state.iteration == 4

    r = phinmf.tl_nmf(notes(), 3, random_state=0, callback=callback)
    assert r.status is Status.CALLBACK
    assert [s[0] for s in seen] == [1, 2, 3, 4]
    assert [s[1] for s in seen] == list(r.history.objective)


def test_no_iterations_return_the_start(rng):
    Y = notes()
    M, N = Y.shape
    Phi, W, H = random_orthogonal(M, rng), rng.random((M, 2)), rng.random((2, N))
    r = phinmf.tl_nmf(Y, 2, init=Phi, W=W, H=H, max_iter=0, tol=0)
    assert np.allclose(r.Phi, Phi, atol=1e-14)
    assert np.allclose(r.W @ r.H, W @ H)
    assert np.allclose(r.W.sum(axis=0), 1)


def test_a_start_in_the_units_of_the_data_continues_a_run():
    Y = 1e-3 * notes()
    one = phinmf.tl_nmf(Y, 3, solver="quasi-newton", random_state=0, max_iter=4, tol=0)
    two = phinmf.tl_nmf(
        Y, 3, solver="quasi-newton", init=one.Phi, W=one.W, H=one.H, max_iter=0, tol=0
    )
    assert two.objective == pytest.approx(one.objective, rel=1e-10)


def test_every_kind_of_random_state():
    Y = notes()
    how = {"n_components": 2, "init": "random", "max_iter": 1, "tol": 0}
    same = [
        phinmf.tl_nmf(Y, random_state=s, **how).Phi
        for s in (3, np.int64(3), np.random.default_rng(3))
    ]
    assert np.array_equal(same[0], same[1])
    assert np.array_equal(same[0], same[2])
    old = [phinmf.tl_nmf(Y, random_state=np.random.RandomState(3), **how).Phi for _ in range(2)]
    assert np.array_equal(*old)
    anything = [phinmf.tl_nmf(Y, random_state=None, **how).Phi for _ in range(2)]
    assert not np.array_equal(*anything)
    assert not np.array_equal(same[0], phinmf.tl_nmf(Y, random_state=4, **how).Phi)


def test_no_global_random_state_is_touched():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    phinmf.tl_nmf(notes(), 2, init="random", max_iter=1, tol=0)
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_plain_nmf_keeps_the_transform():
    r = phinmf.tl_nmf(notes(), 3, solver=None, random_state=0, max_iter=30, tol=0)
    assert np.allclose(r.Phi, phinmf.linalg.manifold.dct(32), atol=1e-14)
    assert r.objective < r.history.start
    assert not any(r.history.steps)


def test_silent_frames_cost_nothing():
    Y = notes()
    silent = np.concatenate([Y, np.zeros((32, 10))], axis=1)
    r = phinmf.tl_nmf(silent, 3, random_state=0, max_iter=5, tol=0)
    assert (r.H[:, -10:] == 0).all()
    assert all(np.isfinite(a).all() for a in (r.Phi, r.W, r.H))


def test_learn_transform_reaches_the_minimum():
    Y, V_hat, start, Phi_star = synthetic(6, 200, seed=0)
    # a loss of 1 ± 1e-16 cannot tell relative gradients below 1e-8 from 0
    how = {"init": start, "floor": 1e-2, "tol": 1e-7, "method": Method(anneal=False)}
    r = phinmf.learn_transform(Y, V_hat, **how)
    assert r.W is None
    assert r.H is None
    assert r.status is Status.SMALL_GRADIENT
    assert r.objective < 1e-12 * Y.size
    assert np.allclose(r.Phi, Phi_star, atol=1e-6)
    scaled = phinmf.learn_transform(8 * Y, 64 * V_hat, **how)
    assert np.array_equal(scaled.Phi, r.Phi)


def test_a_failed_line_search_is_a_status():
    """At the minimum no point is lower; the run says so and goes no further."""
    Y, V_hat, _, Phi_star = synthetic(5, 50, seed=1)
    with pytest.warns(ConvergenceWarning, match="line search"):
        r = phinmf.learn_transform(Y, V_hat, init=Phi_star, floor=1e-3, tol=1e-30)
    assert r.status is Status.LINE_SEARCH
    assert r.history.search_failed[-1]
    assert not r.converged


def test_a_solver_may_be_an_instance():
    how = {"n_components": 3, "random_state": 0, "max_iter": 3, "tol": 0}
    exp = phinmf.tl_nmf(notes(), solver=QuasiNewton(), **how)
    cayley = phinmf.tl_nmf(notes(), solver=QuasiNewton(retraction="cayley", metric="exact"), **how)
    assert exp.objective != cayley.objective
    assert abs(exp.objective - cayley.objective) < 0.1 * abs(exp.objective)


def test_sparsity_of_the_paper():
    """On the paper's recording (mean(Y²) = 0.006608) λ = 1 is sparsity 0.29."""
    Y = np.full((440, 3), np.sqrt(0.006608))
    assert phinmf.sparsity_from_lambda(1.0, Y, 10) == pytest.approx(0.2907, rel=1e-3)
    published = 1e6 * (10 / 440) ** 2  # weight 1e6·K/M = λM/K
    assert phinmf.sparsity_from_lambda(published, Y, 10) == pytest.approx(150, rel=2e-3)
