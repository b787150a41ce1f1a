"""`TLNMF.partial_fit`: frames as they arrive, any number in a call."""

import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from streams import BLOCK, M, cut, frames, learned, model, same

from phinmf import TLNMF


def test_what_was_learned_can_be_used_like_that_of_a_fit():
    Y = frames(N=6 * BLOCK)
    found = learned(cut(Y, 7))
    assert (found.n_steps_, found.n_frames_seen_) == (6, Y.shape[1])
    assert found.transform(Y.T).shape == (Y.shape[1], 2)
    assert found.atom_energies_.sum() == pytest.approx(np.sum(Y**2), rel=0.3)  # some is forgotten
    assert np.isfinite(found.score(Y.T))
    assert found.get_feature_names_out().tolist() == ["tlnmf0", "tlnmf1"]


def test_a_short_beginning_is_fitted_as_by_fit():
    Y = frames(N=BLOCK + 3)
    found, whole = model().partial_fit(Y.T), model().fit(Y.T)
    assert np.array_equal(found.transform_matrix_, whole.transform_matrix_)
    np.testing.assert_allclose(found.components_, whole.components_, rtol=1e-12)


def test_one_frame_is_enough_to_begin_with():
    Y = frames(N=60)
    found = model()
    for y in Y.T:
        found.partial_fit(y[None])
        assert found.components_.shape == (2, M)
    assert found.n_frames_seen_ == 60
    same(found, model().partial_fit(Y.T))


@pytest.mark.parametrize("n", [5, BLOCK + 3, 4 * BLOCK + 5])
def test_a_model_that_was_saved_or_pickled_goes_on_with_the_same_bits(tmp_path, n):
    X = frames(N=8 * BLOCK).T
    found = model().partial_fit(X[:n])
    found.save(tmp_path / "model")
    loaded = TLNMF.load(tmp_path / "model")
    same(found, loaded)
    others = [loaded, pickle.loads(pickle.dumps(found))]
    found.partial_fit(X[n:])
    for other in others:
        same(other.partial_fit(X[n:]), found)


@pytest.mark.full
def test_a_killed_process_continues_from_its_last_save_with_the_same_bits(tmp_path):
    """It is killed after it has learned more than it saved."""
    code = f"""
import os, signal, numpy as np
from streams import frames, model
X = frames(N={8 * BLOCK}).T
found = model().partial_fit(X[:{3 * BLOCK + 7}])
found.save({str(tmp_path / "model")!r})
found.partial_fit(X[{3 * BLOCK + 7}:])
os.kill(os.getpid(), signal.SIGKILL)
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, "-c", code], env=environment)
    assert ended.returncode == -signal.SIGKILL
    loaded, X = TLNMF.load(tmp_path / "model"), frames(N=8 * BLOCK).T
    same(loaded.partial_fit(X[loaded.n_frames_seen_ :]), model().partial_fit(X))


def test_given_parts_survive_a_file(tmp_path):
    X, components = frames(N=6 * BLOCK).T, np.eye(2, M)
    how = {"components": components, "fixed": {"W": np.array([1])}, "init": np.eye(M)}
    found = model(**how).partial_fit(X[:5])
    found.save(tmp_path / "model")
    loaded = TLNMF.load(tmp_path / "model").partial_fit(X[5:])
    same(loaded, found.partial_fit(X[5:]))
    assert np.array_equal(found.components_[1], components[1])


@pytest.mark.parametrize("n", [5, 4 * BLOCK])
def test_a_fixed_transform_survives_a_file(tmp_path, n):
    X = frames(N=8 * BLOCK).T
    fixed = {"Phi": True, "W": np.array([0])}  # an array, which the parameters of a file leave out
    found = model(components=np.ones((1, M)), fixed=fixed, init=np.eye(M)).partial_fit(X[:n])
    found.save(tmp_path / "model")
    loaded = TLNMF.load(tmp_path / "model").partial_fit(X[n:])
    same(loaded, found.partial_fit(X[n:]))
    np.testing.assert_allclose(loaded.transform_matrix_, np.eye(M), atol=1e-12)


@pytest.mark.parametrize("n", [5, BLOCK + 3, 8 * BLOCK])
@pytest.mark.parametrize("change", [{"block_size": 5}, {"sparsity": 1.0}, {"forget_factor": 0.5}])
def test_parameters_may_change_before_a_file_is_written(tmp_path, n, change):
    X = frames(N=10 * BLOCK).T
    found = model().partial_fit(X[:n]).set_params(**change)
    found.save(tmp_path / "model")
    loaded = TLNMF.load(tmp_path / "model").partial_fit(X[n:])
    same(loaded, found.partial_fit(X[n:]))


def test_a_file_may_hold_frames_of_another_precision_than_its_model(tmp_path):
    X = frames(N=6 * BLOCK).T
    found = model().fit(X.astype(np.float32)).partial_fit(X[:10])
    found.save(tmp_path / "model")
    loaded = TLNMF.load(tmp_path / "model")
    assert loaded.transform_matrix_.dtype == np.float32
    same(loaded.partial_fit(X[10:]), found.partial_fit(X[10:]))


def test_after_a_fit_only_given_components_stay():
    X, given = frames(N=10 * BLOCK).T, np.ones((1, M))
    found = model(components=given, fixed="W").fit(X)
    learned = found.components_[1].copy()
    found.partial_fit(X)
    assert np.array_equal(found.components_[0], given[0])
    assert not np.array_equal(found.components_[1], learned)


def test_values_that_the_first_precision_cannot_hold_are_refused():
    X = frames(N=4 * BLOCK).T
    found = model().partial_fit(X.astype(np.float32))
    with pytest.raises(ValueError, match="X has values that float32, the precision of the first"):
        found.partial_fit(np.full((3, M), 1e39))
    same(found.partial_fit(X), model().partial_fit(np.concatenate([X, X]).astype(np.float32)))


def test_it_goes_on_from_a_fit_and_a_fit_forgets_it():
    Y = frames(N=10 * BLOCK)
    fitted = model().fit(Y.T)
    Phi, cost = fitted.transform_matrix_, fitted.objective_
    fitted.partial_fit(Y.T[: 2 * BLOCK])
    assert fitted.n_steps_ == 2
    assert abs((fitted.transform_matrix_ @ Phi.T).diagonal()).mean() > 0.5
    same_again = fitted.fit(Y.T)
    assert same_again.objective_ == cost
    assert not hasattr(fitted, "n_steps_")
    assert not hasattr(clone(fitted), "components_")
    assert fitted.partial_fit(Y.T[:5]).n_frames_seen_ == 5


def test_silence_waits_for_sound():
    found = model().partial_fit(np.zeros((30, M)))
    with pytest.raises(NotFittedError):
        found.transform(np.ones((2, M)))
    found.partial_fit(frames(N=5).T)
    assert found.components_.shape == (2, M)
    found.partial_fit(frames(N=3 * BLOCK).T)
    assert found.n_frames_seen_ == 35 + 3 * BLOCK


def test_weights_count_as_often_as_they_say():
    X = frames(N=4 * BLOCK).T
    weight = np.where(np.arange(len(X)) % 3, 1.0, 0.0)
    some = model(block_size=len(X) // 2).partial_fit(X, sample_weight=weight)
    assert some.scale_ == pytest.approx(np.sqrt(np.mean(X[weight > 0] ** 2)), rel=0.1)
    half = model(solver=None, forget_factor=1.0).partial_fit(X, sample_weight=np.full(len(X), 0.5))
    whole = model(solver=None, forget_factor=1.0).partial_fit(X)
    np.testing.assert_allclose(half.components_, whole.components_, rtol=1e-6)
    assert half.objective_ == pytest.approx(whole.objective_ / 2)


def test_a_call_that_fails_changes_nothing():
    X = frames(N=4 * BLOCK).T
    found = model().partial_fit(X)
    before = found.components_

    def fails(state):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        found.set_params(callback=fails).partial_fit(X)
    assert found.components_ is before
    assert found.n_frames_seen_ == len(X)
    found.set_params(callback=None).partial_fit(X)
    same(found, model().partial_fit(np.concatenate([X, X])))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.full((3, M), np.nan), "NaN"),
        (np.ones((3, M + 1)), "13 features, but TLNMF is expecting 12 features"),
        (np.ones(M), "2D array"),
        (np.ones((0, M)), "minimum of 1"),
    ],
)
def test_bad_frames_are_refused(X, message):
    found = model().partial_fit(frames(N=3 * BLOCK).T)
    with pytest.raises(ValueError, match=message):
        found.partial_fit(X)


def test_frames_of_another_precision_are_converted():
    X = frames(N=4 * BLOCK).T
    found = model().partial_fit(X[:30]).partial_fit(X[30:].astype(np.float32))
    assert found.components_.dtype == np.float64
    assert found.transform(X[:2].astype(np.float32)).dtype == np.float32


@pytest.mark.full
def test_a_dask_array_is_refused():
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="X is a dask array, but partial_fit takes frames"):
        model().partial_fit(da.ones((50, M)))


@pytest.mark.parametrize("n", [1, 5, BLOCK + 1])
def test_a_few_frames_after_fit_do_not_replace_what_it_learned(n):
    Y = frames(N=10 * BLOCK)
    found = model().fit(Y.T)
    before = found.transform_matrix_.copy(), found.score(Y.T)
    found.partial_fit(Y[:, :n].T)
    assert np.array_equal(found.transform_matrix_, before[0])
    assert found.score(Y.T) == before[1]
    assert found.n_frames_seen_ == n
    found.partial_fit(Y.T)
    assert not np.array_equal(found.transform_matrix_, before[0])


def test_the_solver_may_be_left_out_for_a_while():
    Y = frames(N=40 * BLOCK)
    found = model().partial_fit(Y[:, : 10 * BLOCK].T).set_params(solver=None)
    before = found.transform_matrix_.copy()
    found.partial_fit(Y[:, 10 * BLOCK : 20 * BLOCK].T)
    np.testing.assert_allclose(found.transform_matrix_, before, atol=1e-12)
    found.set_params(solver="lbfgs").partial_fit(Y[:, 20 * BLOCK :].T)
    assert np.abs(found.transform_matrix_ - before).max() > 1e-3


@pytest.mark.parametrize(
    "change",
    [
        {"divergence": "euclidean"},
        {"n_components": 3},
        {"fixed": "Phi"},
        {"components": np.ones((1, M))},
    ],
    ids=str,
)
def test_what_was_learned_depends_on_some_parameters(change):
    Y = frames(N=6 * BLOCK)
    found = model().partial_fit(Y.T)
    before = found.get_params()
    with pytest.raises(ValueError, match=f"{next(iter(change))}=.* but partial_fit began with"):
        found.set_params(**change).partial_fit(Y.T)
    found.set_params(**{name: before[name] for name in change}).partial_fit(Y.T)


def test_frames_may_all_have_no_weight():
    Y = frames(N=6 * BLOCK)
    weights = np.r_[np.zeros(BLOCK), np.ones(5 * BLOCK)]
    whole, parts = model(), model()
    whole.partial_fit(Y.T, sample_weight=weights)
    for y, w in zip(cut(Y, 9), cut(weights, 9), strict=True):
        parts.partial_fit(y.T, sample_weight=w)
    same(whole, parts)


def test_frames_of_several_channels_are_refused_in_one_sentence():
    with pytest.raises(ValueError, match="one channel"):
        model().partial_fit(np.ones((2, M, 5)))


def test_a_model_that_has_seen_only_silence_says_so():
    quiet = model().partial_fit(np.zeros((30, 12)))
    with pytest.raises(NotFittedError, match="nothing from 30 frames: all were silent or of"):
        quiet.transform(np.ones((3, 12)))
    with pytest.raises(NotFittedError, match="Call 'fit'"):
        model().transform(np.ones((3, 12)))
