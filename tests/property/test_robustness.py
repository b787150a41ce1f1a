"""Hostile frames: nothing is NaN, nothing rises, and nothing of the caller's changes."""

import numpy as np
import pytest
from hostile import assert_finite, assert_never_rises, cases, nothing_changes
from hypothesis import HealthCheck, given, settings
from problems import notes
from sounds import KINDS
from tensor_problems import host, tensor

import phinmf
from phinmf.linalg.manifold import orthogonality_error

DTYPES = ["float32", "float64"]
SLACK = {"float32": 1e-5, "float64": 1e-12}
ROUNDING = {"float32": 1e-5, "float64": 1e-12}


def check_function(Y, slack, give=np.asarray, **how):
    """Fit by `tl_nmf`, on arrays or tensors, and look at everything that it returns."""
    inputs = {name: how.pop(name, None) for name in ("W", "H", "sample_weight")}
    weights = inputs["sample_weight"]
    with nothing_changes(Y, *inputs.values()):
        inputs = {name: None if x is None else give(x) for name, x in inputs.items()}
        r = phinmf.tl_nmf(give(Y), **inputs, **how)
    M, N = Y.shape[-2:]
    K = how["n_components"]
    Phi, W, H = map(host, (r.Phi, r.W, r.H))
    assert (Phi.shape, W.shape, H.shape) == ((M, M), (M, K), (K, N))
    assert Phi.dtype == W.dtype == H.dtype == Y.dtype
    assert (W >= 0).all()
    assert (H >= 0).all()
    h = r.history
    assert_finite(Phi, W, H, r.objective, r.divergence, r.penalty, h.start)
    assert_finite(h.objective, h.target_objective, h.divergence, h.penalty)
    assert orthogonality_error(Phi) < ROUNDING[Y.dtype.name]
    assert_never_rises(h, slack, M * (N if weights is None else max(N, weights.sum())))
    return r


def check_estimator(X, give=np.asarray, **how):
    """Fit TLNMF, transform, and look at everything that they return."""
    fit = {name: how.pop(name, None) for name in ("sample_weight", "activations")}
    model = phinmf.TLNMF(**how)
    with nothing_changes(X, *fit.values(), how.get("components")):
        fit = {name: None if x is None else give(x) for name, x in fit.items()}
        H = host(model.fit_transform(give(X), **fit))
        again = model.transform(give(X))
    assert np.array_equal(H, host(again))
    assert H.dtype == X.dtype
    assert (H >= 0).all()
    learned = (model.components_, model.transform_matrix_, model.atom_energies_)
    assert_finite(H, *map(host, learned), model.objective_, model.reconstruction_err_)
    assert_finite(model.scale_, model.score(give(X)))
    others = np.concatenate([0 * X[:1], 100 * X[:1], X[-1:] / 100])
    assert_finite(host(model.transform(give(others))), host(model.inverse_transform(again)))
    return model


def check(case, give=np.asarray):
    how = case.arguments
    if give is tensor:
        how |= {"engine": "array" if how.get("engine") == "array" else "auto"}
    check_function(case.Y, case.slack, give, W=case.W, H=case.H, random_state=case.seed, **how)
    W, H = (None if a is None else a.T for a in (case.W, case.H))
    X = np.ascontiguousarray(case.Y[0].T)
    check_estimator(X, give, components=W, activations=H, random_state=case.seed, **how)


@pytest.mark.full
@settings(max_examples=100)
@given(case=cases())
def test_a_hundred_random_inputs(case):
    check(case)


@pytest.mark.full
@settings(max_examples=2000, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_two_thousand_random_inputs(case):
    check(case)


@pytest.mark.full
@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_two_hundred_random_tensors(case):
    check(case, tensor)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_of_sound_is_fitted(kind, dtype, rng):
    """With the defaults, so that every stage of the schedule is passed."""
    Y = KINDS[kind](16, 120, rng).astype(dtype)
    how = {"n_components": 3, "max_iter": 15, "tol": 0, "random_state": 0}
    r = check_function(Y, SLACK[dtype], **how)
    assert r.objective <= r.history.start
    check_estimator(np.ascontiguousarray(Y.T), **how)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("M", "N", "K"), [(8, 1, 1), (8, 3, 2), (8, 3, 3), (8, 30, 1), (8, 30, 8), (1, 9, 1), (1, 1, 1)]
)
def test_every_shape_is_fitted(M, N, K, dtype, rng):
    Y = rng.standard_normal((M, N)).astype(dtype)
    how = {"n_components": K, "max_iter": 10, "tol": 0, "random_state": 0}
    check_function(Y, SLACK[dtype], **how)
    check_estimator(np.ascontiguousarray(Y.T), **how)


@pytest.mark.parametrize("dtype", DTYPES)
def test_components_at_zero_stay_zero_and_the_fit_is_finite(dtype, rng):
    Y = notes().astype(dtype)
    W, H = rng.random((32, 3)), rng.random((3, Y.shape[1]))
    W[:, 0], H[2] = 0, 0
    how = {"n_components": 3, "max_iter": 8, "tol": 0, "solver": "quasi-newton"}
    r = check_function(Y, SLACK[dtype], W=W, H=H, **how)
    assert not r.W[:, 0].any()
    assert not r.H[2].any()
    check_estimator(np.ascontiguousarray(Y.T), components=W.T, **how)


SCALES = [1e-12, 1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9, 1e12]


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_objective_does_not_depend_on_the_scale(dtype):
    Y = notes()
    how = {"n_components": 3, "tol": 0, "max_iter": 50, "random_state": 0}
    objectives = [
        check_function((scale * Y).astype(dtype), SLACK[dtype], **how).objective
        for scale in (1.0, *SCALES)
    ]
    assert np.ptp(objectives) < 0.01 * abs(objectives[0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [-40, 40])
def test_powers_of_two_give_the_same_bits(k, dtype):
    X = np.ascontiguousarray(notes().T, dtype=dtype)
    how = {"n_components": 3, "tol": 0, "max_iter": 8, "random_state": 0}
    one, other = check_estimator(X, **how), check_estimator(np.ldexp(X, k), **how)
    assert np.array_equal(one.transform_matrix_, other.transform_matrix_)
    assert np.array_equal(one.components_, other.components_)
    assert np.array_equal(np.ldexp(one.transform(X), 2 * k), other.transform(np.ldexp(X, k)))
    assert one.objective_ == other.objective_
    assert np.array_equal(one.history_.objective, other.history_.objective)


def test_a_sample_of_as_many_frames_as_differ_is_not_compared_with_all():
    """Six frames, two of them different: a run on a sample is followed by one on both."""
    Y = np.array([[1, 0, 1, 0, 1, 0]], np.float32)
    how = {
        "sparsity": 0.3,
        "floor": 0.01,
        "method": phinmf.Method(n_iter_nmf=0, anneal=True),
        "max_iter": 2,
    }
    result = phinmf.tl_nmf(Y, 1, divergence="euclidean", tol=0, random_state=0, **how)
    assert result.status is not phinmf.Status.ROSE
