"""Starting, stopping and telling the story; the options of the public functions."""

import inspect
from dataclasses import fields

import numpy as np
import pytest
from hostile import nothing_changes
from problems import notes, synthetic
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf import TLNMF, Method, Status, learn_transform, tl_nmf
from phinmf.algorithm.options import Options
from phinmf.linalg.manifold import random_orthogonal
from phinmf.unmixing.options import UnmixOptions

HOW = {"n_components": 3, "random_state": 0, "tol": 0}


def test_one_row_per_outer_iteration_until_the_callback_stops():
    states = []

    def callback(state):
        states.append((state.iteration, state.objective))
        return state.iteration == 7

    r = tl_nmf(notes(), solver="quasi-newton", callback=callback, **HOW)
    h = r.history
    assert r.status is Status.CALLBACK
    assert states == list(enumerate(h.objective, 1))
    assert len(h) == len(h.objective) == len(h.steps) == r.n_iter == 7
    assert (np.diff(h.seconds) > 0).all()
    assert (np.diff(h.evaluations) >= 1).all()
    assert all(len(steps) == 2 for steps in h.steps)
    assert h[-1].objective == h.objective[-1]
    assert "7 outer iterations" in repr(h)


def test_the_end_has_a_reason():
    r = tl_nmf(notes(), solver="quasi-newton", **HOW | {"tol": 1e-3})
    assert r.status is Status.SMALL_DECREASE
    assert r.converged
    last = r.history.objective
    assert last[-2] - last[-1] <= 1e-3 * abs(last[-1])
    assert "converged" in repr(r)
    with pytest.warns(ConvergenceWarning, match="not converged to tol=1e-12; stopped: max_iter"):
        r = tl_nmf(notes(), max_iter=2, **HOW | {"tol": 1e-12})
    assert r.status is Status.MAX_ITER
    assert not r.converged


def test_no_iterations_return_the_start(rng):
    Y = notes()
    M, N = Y.shape
    Phi, W, H = random_orthogonal(M, rng), rng.random((M, 2)), rng.random((2, N))
    r = tl_nmf(Y, 2, init=Phi, W=W, H=H, max_iter=0, tol=0)
    assert np.allclose(r.Phi, Phi, atol=1e-14)
    assert np.allclose(r.W @ r.H, W @ H)
    assert np.allclose(r.W.sum(axis=0), 1)


def test_every_kind_of_random_state():
    def start(state):
        how = {"n_components": 2, "init": "random", "max_iter": 0, "tol": 0}
        return tl_nmf(notes(), random_state=state, **how).Phi

    before = np.random.get_state()[1].copy()  # noqa: NPY002
    by_seed = start(3)
    assert np.array_equal(by_seed, start(np.int64(3)))
    assert np.array_equal(by_seed, start(np.random.default_rng(3)))
    assert not np.array_equal(by_seed, start(4))
    assert np.array_equal(*(start(np.random.RandomState(3)) for _ in range(2)))
    assert not np.array_equal(*(start(None) for _ in range(2)))
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_learn_transform_reaches_the_minimum():
    Y, V_hat, start, Phi_star = synthetic(6, 200, seed=0)
    # a loss of 1 ± 1e-16 cannot tell relative gradients below 1e-8 from 0
    how = {"init": start, "floor": 1e-2, "tol": 1e-7, "method": Method(anneal=False)}
    with nothing_changes(Y, V_hat, start):
        r = learn_transform(Y, V_hat, **how)
    assert r.W is None
    assert r.H is None
    assert r.status is Status.SMALL_GRADIENT
    assert r.objective < 1e-12 * Y.size
    assert np.allclose(r.Phi, Phi_star, atol=1e-6)
    scaled = learn_transform(8 * Y, 64 * V_hat, **how)
    assert np.array_equal(scaled.Phi, r.Phi)


def test_a_failed_line_search_is_a_status():
    """At the minimum no point is lower; the run says so and goes no further."""
    Y, V_hat, _, Phi_star = synthetic(5, 50, seed=1)
    with pytest.warns(ConvergenceWarning, match="line search"):
        r = learn_transform(Y, V_hat, init=Phi_star, floor=1e-3, tol=1e-30)
    assert r.status is Status.LINE_SEARCH
    assert r.history.search_failed[-1]
    assert not r.converged


def test_sparsity_of_the_paper():
    """On the paper's recording (mean(Y²) = 0.006608) λ = 1 is sparsity 0.29."""
    Y = np.full((440, 3), np.sqrt(0.006608))
    assert phinmf.sparsity_from_lambda(1.0, Y, 10) == pytest.approx(0.2907, rel=1e-3)
    published = 1e6 * (10 / 440) ** 2  # weight 1e6·K/M = λM/K
    assert phinmf.sparsity_from_lambda(published, Y, 10) == pytest.approx(150, rel=2e-3)


# the one list of options

#: Defaults of their own: of `learn_transform`, whose outer iterations have no NMF, and of `unmix`.
OWN = {
    learn_transform: {"method": Method(n_iter_transform=5), "max_iter": 200, "tol": 1e-6},
}
OF_UNMIX = {"n_atoms": 0.99, "sparsity": 50.0, "floor": 1e-3, "pairs": True, "solver": None}
OWN |= {UnmixOptions: OF_UNMIX, phinmf.unmix: OF_UNMIX}


def defaults(function):
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters}


@pytest.mark.parametrize("function", [tl_nmf, TLNMF, learn_transform, phinmf.unmix, UnmixOptions])
def test_signatures_follow_the_options(function):
    options = {field.name: field.default for field in fields(Options)} | OWN.get(function, {})
    signature = defaults(function)
    shared = options.keys() & signature.keys()
    assert {name: signature[name] for name in shared} == {name: options[name] for name in shared}
    if function in (tl_nmf, TLNMF):
        assert shared == options.keys()
    if function is TLNMF:  # W, H and weights are `components` and arguments of `fit`
        assert defaults(tl_nmf).keys() - {"Y", "W", "H", "sample_weight"} <= signature.keys()
