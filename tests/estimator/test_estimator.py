"""TLNMF passes the checks of scikit-learn, and works with its tools and other libraries."""

import warnings

import numpy as np
import pytest
import sklearn
from problems import notes, sound
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from tensor_problems import tensor

from phinmf import TLNMF, tl_nmf
from phinmf.divergences import DIVERGENCES, Divergence

QUICK = {"n_components": 3, "max_iter": 8, "tol": 0, "random_state": 0}


@pytest.fixture(scope="module")
def X():
    return notes().T


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([TLNMF()])
def test_scikit_learn_checks_pass(estimator, check):
    check(estimator)


def test_fit_is_tl_nmf_of_the_transpose(X):
    model, r = TLNMF(**QUICK).fit(np.asfortranarray(X)), tl_nmf(X.T, **QUICK)
    assert np.array_equal(model.transform_matrix_, r.Phi)
    assert np.array_equal(model.components_, r.W.T)
    assert model.scale_ == r.scale == pytest.approx(np.sqrt((X**2).mean()))
    assert model.floor_ == pytest.approx(r.floor)
    assert model.n_iter_ == 8
    assert model.stop_reason_ == r.status.value
    assert not model.converged_
    assert model.objectives_ == [r.objective]
    energies = ((r.Phi @ X.T) ** 2).sum(axis=1)
    assert np.allclose(model.atom_energies_, energies)


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize(
    ("engine", "dtype"),
    [("array", np.float64), ("compiled", np.float32), ("compiled", np.float64)],
)
def test_activations_of_a_frame_do_not_depend_on_other_frames(X, dtype, divergence, engine):
    X = X.astype(dtype)
    model = TLNMF(divergence=divergence, engine=engine, **QUICK)
    H = model.fit_transform(X)
    tolerance = {"rtol": 1e-6 if dtype == np.float64 else 1e-4, "atol": 1e-6 * H.max()}
    assert H.dtype == dtype
    assert np.array_equal(H, model.transform(X))
    assert np.allclose(model.transform(X[::-1])[::-1], H, **tolerance)
    assert np.allclose(model.transform(X[7:12]), H[7:12], **tolerance)
    assert np.allclose(
        np.concatenate([model.transform(x[None]) for x in X[:9]]), H[:9], **tolerance
    )


def test_the_activations_minimise_the_cost_of_each_frame(X):
    """The gradient of the cost is zero for positive activations, and not negative for zeros."""
    model = TLNMF(**QUICK)
    H, scale = model.fit_transform(X).T, model.scale_**2
    W, mu = model.components_.T, Divergence.default_sparsity / scale
    v = (model.transform_matrix_ @ X.T) ** 2
    v_hat = model.inverse_transform(H.T).T
    assert np.allclose(v_hat, W @ H + model.floor_)
    divergence = DIVERGENCES["itakura-saito"].value(v / scale, v_hat / scale, model.floor)
    assert model.reconstruction_err_ == pytest.approx(divergence.sum(), rel=1e-9)
    assert model.objective_ == pytest.approx(divergence.sum() + mu * H.sum(), rel=1e-9)
    gain = (W.T @ ((v + model.floor_) / v_hat**2)) / (W.T @ (1 / v_hat) + mu)
    alive = 1e-9 * H.max() < H
    assert np.median(abs(gain[alive] - 1)) < 1e-3
    assert gain[~alive].max(initial=0) < 1.01


def test_restarts_keep_the_best(X):
    model = TLNMF(init="random", n_init=3, **QUICK).fit(X)
    at_once = TLNMF(init="random", n_init=3, n_jobs=2, **QUICK).fit(X)
    assert len(set(model.objectives_)) == 3
    assert model.history_[-1].objective >= model.objectives_.min()
    assert np.array_equal(model.objectives_, at_once.objectives_)
    assert np.array_equal(model.components_, at_once.components_)


def test_a_warm_start_continues_the_last_fit(X):
    model = TLNMF(warm_start=True, **QUICK).fit(X)
    before = model.objective_
    model.fit(X)
    assert model.history_.start < 1.001 * before
    assert model.objective_ < before


@pytest.mark.usefixtures("always_coarse")
@pytest.mark.parametrize("give", [np.asarray, tensor])
def test_a_warm_start_continues_with_few_atoms_and_with_another_number(give):
    frames = give(np.ascontiguousarray(sound()[0].T))
    model = TLNMF(n_atoms=7, warm_start=True, **QUICK).fit(frames)
    for n_atoms, P in ((7, 7), (12, 12), (4, 4), (None, 24)):
        before, same = model.objective_, n_atoms == model.n_atoms
        model.set_params(n_atoms=n_atoms).fit(frames)
        assert model.n_atoms_ == P
        assert set(model.history_.atoms) == {P}
        assert model.objective_ < model.history_.start * (1 + 1e-3)
        assert not same or model.history_.start == pytest.approx(before, rel=1e-2)


def test_pipelines_grid_search_and_pandas_work(X):
    pytest.importorskip("pandas")
    pipeline = make_pipeline(FunctionTransformer(np.asarray), TLNMF(**QUICK), StandardScaler())
    with sklearn.config_context(transform_output="pandas"):
        frame = TLNMF(**QUICK).fit_transform(X)
    assert list(frame.columns) == ["tlnmf0", "tlnmf1", "tlnmf2"]
    assert pipeline.fit_transform(X).shape == (len(X), 3)
    search = GridSearchCV(TLNMF(**QUICK), {"n_components": [1, 3]}, cv=2).fit(X)
    assert search.best_params_ == {"n_components": 3}


@pytest.mark.full
def test_librosa_decompose_accepts_it(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        librosa = pytest.importorskip("librosa")
        components, activations = librosa.decompose.decompose(X.T, transformer=TLNMF(**QUICK))
    model = TLNMF(**QUICK).fit(X)
    assert np.array_equal(components, model.components_.T)
    assert np.allclose(activations, model.transform(X).T)


def test_callbacks_of_scikit_learn_are_called(X, capsys):
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 has callbacks")
    monitor = callback.ScoringMonitor(scoring={"fit": lambda model, X, y=None: model.score(X)})
    model = TLNMF(init="random", n_init=2, **QUICK).set_callbacks(monitor, callback.ProgressBar())
    model.fit(X)
    rows = monitor.get_logs()
    rows = rows if isinstance(rows, list) else [rows]
    scores = [row for log in rows for row in log.data if row["task_name"] == "iteration"]
    assert len(scores) == 2 * 8
    assert all(np.isfinite(row["fit"]) for row in scores)
    assert scores[7]["fit"] > scores[0]["fit"]
