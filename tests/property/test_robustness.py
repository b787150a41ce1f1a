"""Hostile frames: nothing is NaN, nothing rises, and nothing of the caller's changes."""

import numpy as np
import pytest
from formulas import check_fit
from hostile import assert_finite, nothing_changes
from problems import notes
from sounds import KINDS

import phinmf
from phinmf.linalg.manifold import orthogonality_error

DTYPES = ["float32", "float64"]
FITS = {"n_components": 3, "tol": 0, "random_state": 0}


def checked(Y, **how):
    """Fit, and check everything that `tl_nmf` and `TLNMF` return."""
    given = {name: how.pop(name) for name in ("W", "H") if name in how}
    with nothing_changes(Y, *given.values()):
        r = phinmf.tl_nmf(Y, **given, **how)
    check_fit(Y, r, how)
    assert r.objective <= r.history.start
    X = np.ascontiguousarray(Y.T)
    components = {"components": given["W"].T} if "W" in given else {}
    model = phinmf.TLNMF(**components, **how)
    with nothing_changes(X, *components.values()):
        H = model.fit_transform(X)
    assert np.array_equal(model.transform(X), H)
    few, room = slice(None, None, max(1, len(X) // 3)), 1e-2 if Y.dtype == np.float32 else 1e-4
    off = abs(model.transform(X[few]) - H[few])  # a frame does not depend on the others
    assert (off <= room * H[few].max(axis=1, keepdims=True)).all()
    others = np.concatenate([0 * X[:1], 100 * X[:1], X[-1:] / 100])
    assert_finite(model.transform(others), model.transform_matrix_, model.atom_energies_)
    return r, model


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_of_sound_is_fitted(kind, dtype, rng):
    """With the defaults, so that every stage of the schedule is passed."""
    checked(KINDS[kind](16, 120, rng).astype(dtype), max_iter=15, **FITS)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("M", "N", "K"), [(8, 1, 1), (8, 3, 2), (8, 3, 3), (8, 30, 1), (8, 30, 8), (1, 9, 1), (1, 1, 1)]
)
def test_every_shape_is_fitted(M, N, K, dtype, rng):
    how = FITS | {"n_components": K}
    checked(rng.standard_normal((M, N)).astype(dtype), max_iter=10, **how)


@pytest.mark.parametrize("dtype", DTYPES)
def test_components_at_zero_stay_zero_and_the_fit_is_finite(dtype, rng):
    Y = notes().astype(dtype)
    W, H = rng.random((32, 3)), rng.random((3, Y.shape[1]))
    W[:, 0] = H[2] = 0
    r, _ = checked(Y, W=W, H=H, max_iter=8, solver="quasi-newton", **FITS)
    assert not r.W[:, 0].any()
    assert not r.H[2].any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_objective_does_not_depend_on_the_scale(dtype):
    scales = [1e-12, 1e-6, 1, 1e6, 1e12]
    fits = [phinmf.tl_nmf((s * notes()).astype(dtype), max_iter=50, **FITS) for s in scales]
    objectives = [r.objective for r in fits]
    assert np.ptp(objectives) < 0.01 * abs(objectives[0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [-40, 40])
def test_powers_of_two_give_the_same_bits(k, dtype):
    X = np.ascontiguousarray(notes().T, dtype=dtype)
    one, other = (phinmf.TLNMF(max_iter=8, **FITS).fit(np.ldexp(X, n)) for n in (0, k))
    assert np.array_equal(one.transform_matrix_, other.transform_matrix_)
    assert np.array_equal(one.components_, other.components_)
    assert np.array_equal(np.ldexp(one.transform(X), 2 * k), other.transform(np.ldexp(X, k)))
    assert one.objective_ == other.objective_
    assert np.array_equal(one.history_.objective, other.history_.objective)


def test_a_sample_of_as_many_frames_as_differ_is_not_compared_with_all():
    """Six frames, two of them different: a run on a sample is followed by one on both."""
    Y = np.array([[1, 0, 1, 0, 1, 0]], np.float32)
    how = {"sparsity": 0.3, "floor": 0.01, "max_iter": 2, "tol": 0, "random_state": 0}
    method = phinmf.Method(n_iter_nmf=0, anneal=True)
    result = phinmf.tl_nmf(Y, 1, divergence="euclidean", method=method, **how)
    assert result.status is not phinmf.Status.ROSE


@pytest.mark.parametrize("floor", [1e-11, 1e-8])
def test_a_click_in_single_precision_keeps_the_transform_orthogonal(floor):
    """Where the curvature is nearly 0 a direction can be 1e20 radians long: steps are limited."""
    Y = np.zeros((11, 3), np.float32)
    Y[5, 1] = 1e-4
    how = FITS | {"sparsity": 0, "floor": floor, "max_iter": 6, "random_state": 490}
    how["method"], errors = phinmf.Method(n_iter_nmf=0), []
    r = phinmf.tl_nmf(
        Y, callback=lambda state: errors.append(orthogonality_error(state.Phi)), **how
    )
    assert orthogonality_error(r.Phi) < 1e-6
    assert max(errors) < 1e-4
