"""Saved models are loaded unchanged, with parameters that are checked."""

import re

import numpy as np
import pytest
from forging import forged, refusal
from problems import notes

from phinmf import TLNMF, Anneal, Method, storage
from phinmf.divergences import DIVERGENCES, Beta, Gaussian
from phinmf.solvers import QuasiNewton


@pytest.fixture
def X():
    return notes().T


@pytest.fixture
def model(X):
    return TLNMF(3, max_iter=5, tol=0, random_state=0).fit(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_loaded_model_equals_the_saved_one(tmp_path, X, dtype):
    X = X.astype(dtype)
    how = {"method": Method(anneal=Anneal(length=3)), "solver": QuasiNewton(metric="exact")}
    how |= {"max_iter": 5, "tol": 0, "random_state": np.random.default_rng(0), "fixed": ["Phi"]}
    model = TLNMF(3, **how).fit(X)
    model.save(tmp_path / "m.npz")
    again = TLNMF.load(tmp_path / "m.npz")
    assert np.array_equal(again.transform(X), model.transform(X))
    assert again.transform(X).dtype == dtype
    for name in vars(model):
        if name.endswith("_") and name != "history_":
            assert np.all(getattr(again, name) == getattr(model, name)), name
    assert repr(list(again.history_)) == repr(list(model.history_))
    saved = {k: v for k, v in model.get_params().items() if k != "random_state"}
    assert {k: v for k, v in again.get_params().items() if k != "random_state"} == saved
    again.save(tmp_path / "again.npz")


def test_names_of_features_are_kept(tmp_path, X):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"s{i}" for i in range(X.shape[1])])
    model = TLNMF(2, max_iter=2, tol=0).fit(frame)
    model.save(tmp_path / "m.npz")
    again = TLNMF.load(tmp_path / "m.npz")
    assert list(again.feature_names_in_) == list(frame.columns)
    assert np.array_equal(again.transform(frame), model.transform(frame))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("sparsity", -1, "sparsity is -1, but a finite number ≥ 0"),
        ("floor", None, "floor is None, but a finite number ≥ 0"),
        ("n_components", 0, "n_components is 0, but a whole number ≥ 1"),
        ("engine", "abacus", "engine is 'abacus', which is not known"),
        ("fixed", 3, "fixed is 3, but 'Phi', 'W', 'H'"),
        ("solver", {"type": "os.system", "fields": {}}, "'os.system' is missing"),
        ("x", 1, "unexpected keyword argument 'x'"),
    ],
)
def test_parameters_of_a_file_are_checked_as_those_of_a_call(tmp_path, model, name, value, message):
    path = tmp_path / "m.npz"
    model.save(path)
    parameters = storage.read(path, "model of TLNMF").header["parameters"]
    forged(path, "model of TLNMF", {"parameters": parameters | {name: value}})
    with pytest.raises(ValueError, match=message) as error:
        TLNMF.load(path)
    refusal(error.value, path)


class Own(Gaussian):
    """A divergence of the user."""


@pytest.mark.parametrize("given", ["gaussian", Gaussian()])
def test_a_registered_divergence_is_saved_by_its_name(tmp_path, X, given):
    path = tmp_path / "m.npz"
    TLNMF(2, divergence=given, max_iter=2, tol=0).fit(X).save(path)
    assert TLNMF.load(path).divergence == "gaussian"
    gaussian = DIVERGENCES["gaussian"]
    assert TLNMF.load(path, divergence=gaussian).divergence is gaussian
    with pytest.raises(ValueError, match="its divergence is 'gaussian', but 'itakura-saito' is"):
        TLNMF.load(path, divergence="itakura-saito")


@pytest.mark.parametrize("given", [Beta(0.5), "euclidean", Beta(2)])
def test_beta_is_saved_as_its_number(tmp_path, X, given):
    path = tmp_path / "m.npz"
    model = TLNMF(2, divergence=given, max_iter=2, tol=0, random_state=0).fit(X)
    model.save(path)
    loaded = TLNMF.load(path)
    expected = "euclidean" if given == Beta(2) else given
    assert loaded.divergence == expected
    assert loaded.sparsity is None
    assert loaded.score(X) == model.score(X)
    assert TLNMF.load(path, divergence=given).divergence == given
    own = re.escape(str(expected))
    with pytest.raises(ValueError, match=rf"its divergence is '{own}', but 'Beta\(beta=0.6\)' is"):
        TLNMF.load(path, divergence=Beta(0.6))


def test_a_divergence_of_the_users_own_is_passed_again(tmp_path, X):
    path, own = tmp_path / "m.npz", Own()
    model = TLNMF(2, divergence=own, max_iter=2, tol=0, random_state=0).fit(X)
    model.save(path)
    with pytest.raises(ValueError, match="is not one of phinmf's: pass it as divergence=") as error:
        TLNMF.load(path)
    refusal(error.value, path)
    loaded = TLNMF.load(path, divergence=own)
    assert loaded.divergence is own
    assert loaded.score(X) == model.score(X)


class OwnSolver(QuasiNewton):
    pass


class LBFGS(QuasiNewton):
    """A class of the user with the name of a class of phinmf."""


@pytest.mark.parametrize("solver", [OwnSolver(), LBFGS()])
def test_a_solver_of_the_users_own_is_not_replaced_by_the_default(tmp_path, X, solver):
    path = tmp_path / "m.npz"
    model = TLNMF(2, solver=solver, max_iter=2, tol=0).fit(X)
    with pytest.raises(ValueError, match="^solver is .*, which a file cannot hold: set solver to"):
        model.save(path)
    assert not path.exists()
    model.set_params(solver="quasi-newton").save(path)
    assert TLNMF.load(path).solver == "quasi-newton"


def test_a_number_in_an_array_is_saved(tmp_path, X):
    path = tmp_path / "m.npz"
    TLNMF(2, sparsity=np.array(3.0), max_iter=2, tol=0).fit(X).save(path)
    assert TLNMF.load(path).sparsity == 3.0
