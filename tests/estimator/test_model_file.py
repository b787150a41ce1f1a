"""Saved models are loaded unchanged, with parameters that are checked."""

import pickle

import numpy as np
import pytest
from forging import forged, refusal
from pandas import DataFrame
from problems import notes

from phinmf import TLNMF, Anneal, Method, storage
from phinmf.divergences import Beta, Gaussian
from phinmf.inits import DCT
from phinmf.solvers import QuasiNewton

X = notes().T
QUICK = {"n_components": 3, "max_iter": 5, "tol": 0, "random_state": 0}


def same(a, b):
    """Two models have the same fitted attributes and parameters."""
    for name, value in vars(a).items():
        if name.endswith("_") and name != "history_":
            assert np.all(getattr(b, name) == value), name
    assert repr(list(a.history_)) == repr(list(b.history_))
    for name, value in a.get_params().items():
        assert name == "random_state" or np.all(b.get_params()[name] == value), name


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "how",
    [
        {"method": Method(anneal=Anneal(length=3)), "solver": QuasiNewton(metric="exact")},
        {"fixed": ["Phi"], "random_state": np.random.default_rng(0), "sparsity": np.array(3.0)},
        {"init": np.eye(X.shape[1])[::-1], "components": np.ones((1, X.shape[1])), "fixed": "W"},
        {"divergence": Beta(0.5), "n_atoms": 5},
        {"pairs": True},
    ],
    ids=lambda how: ", ".join(how),
)
def test_a_loaded_model_equals_the_saved_one(tmp_path, dtype, how):
    frames = DataFrame(X.astype(dtype), columns=[f"s{i}" for i in range(X.shape[1])])
    model = TLNMF(**QUICK | how).fit(frames)
    model.save(tmp_path / "m.npz")
    loaded = TLNMF.load(tmp_path / "m.npz")
    same(model, loaded)
    assert np.array_equal(loaded.transform(frames), model.transform(frames))
    assert loaded.transform(frames).dtype == dtype
    assert loaded.score(frames) == model.score(frames)
    loaded.save(tmp_path / "again.npz")
    same(model, TLNMF.load(tmp_path / "again.npz"))
    same(model, pickle.loads(pickle.dumps(model)))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("floor", None, "floor is None, but a finite number ≥ 0"),
        ("solver", {"type": "os.system", "fields": {}}, "'os.system' is missing"),
        ("x", 1, "unexpected keyword argument 'x'"),
    ],
)
def test_parameters_of_a_file_are_checked_as_those_of_a_call(tmp_path, name, value, message):
    path = tmp_path / "m.npz"
    TLNMF(**QUICK).fit(X).save(path)
    parameters = storage.read(path, "model of TLNMF").header["parameters"]
    forged(path, "model of TLNMF", {"parameters": parameters | {name: value}})
    with pytest.raises(ValueError, match=message) as error:
        TLNMF.load(path)
    refusal(error.value, path)


class Own(Gaussian):
    """A divergence of the user."""


def test_a_divergence_of_the_users_own_is_passed_again(tmp_path):
    path, own = tmp_path / "m.npz", Own()
    model = TLNMF(**QUICK, divergence=own).fit(X)
    model.save(path)
    with pytest.raises(ValueError, match="is not one of phinmf's: pass it as divergence=") as error:
        TLNMF.load(path)
    refusal(error.value, path)
    loaded = TLNMF.load(path, divergence=own)
    assert loaded.divergence is own
    assert loaded.score(X) == model.score(X)


class LBFGS(QuasiNewton):
    """A class of the user with the name of a class of phinmf."""


class OwnInit(DCT):
    """An init of the user."""


@pytest.mark.parametrize("own", [{"solver": LBFGS()}, {"init": OwnInit()}], ids=str)
def test_an_object_of_the_users_own_is_not_replaced_by_the_default(tmp_path, own):
    path, (name,) = tmp_path / "m.npz", own
    model = TLNMF(**QUICK, **own).fit(X)
    with pytest.raises(ValueError, match=f"^{name} is .*, which a file cannot hold: set {name} to"):
        model.save(path)
    assert not path.exists()
    model.set_params(**{name: getattr(TLNMF(), name)}).save(path)
    assert getattr(TLNMF.load(path), name) == getattr(TLNMF(), name)
