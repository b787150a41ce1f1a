"""Saved models are loaded unchanged; damaged or forged files are refused."""

import json
import os
import re
import zipfile

import numpy as np
import pytest
from forging import assert_one_sentence, changed_arrays, changed_headers, write
from problems import notes

from phinmf import TLNMF, Anneal, Checkpoint, Method, storage, tl_nmf
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
    how = {
        "method": Method(anneal=Anneal(length=3)),
        "solver": QuasiNewton(metric="exact"),
        "max_iter": 5,
    }
    how |= {"tol": 0, "random_state": np.random.default_rng(0), "fixed": ["Phi"]}
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


def test_numpy_reads_the_file_without_pickle(tmp_path, model):
    model.save(tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz", allow_pickle=False) as file:
        header = json.loads(str(file["header"]))
        assert np.array_equal(file["components_"], model.components_)
    assert header["format"] == "phinmf"
    assert header["parameters"]["n_components"] == 3
    assert header["attributes"]["scale_"] == model.scale_
    assert header["versions"]["numpy"] == np.__version__


def rewritten(path, model, header=None, **arrays):
    """Write a model file with parts of it replaced."""
    model.save(path)
    stored = storage.unpack(path)
    text = json.dumps(stored.header | (header or {}))
    np.savez(path, header=np.array(text), **stored.arrays | arrays)


HOSTILE = {
    "another version": ({"version": 2}, {}, "format version 2, but this phinmf reads version 1"),
    "a checkpoint": (
        {"kind": "checkpoint"},
        {},
        "holds 'checkpoint of phinmf', but a model of TLNMF is needed",
    ),
    "another format": ({"format": "x"}, {}, "holds 'x'"),
    "objects": ({}, {"components_": np.array([{"a": 1}], dtype=object)}, "damaged"),
    "not a number": ({}, {"components_": np.full((3, 32), np.nan)}, "not finite"),
    "negative": ({}, {"components_": np.full((3, 32), -1.0)}, "nonnegative"),
    "another shape": ({}, {"components_": np.ones((3, 31))}, "do not belong together"),
    "no matrix": ({}, {"components_": np.ones(3)}, "does not hold a usable model"),
    "not orthogonal": ({}, {"transform_matrix_": 2 * np.eye(32)}, "not orthogonal"),
    "complex": ({}, {"transform_matrix_": 1j * np.eye(32)}, "damaged"),
    "no parameters": ({"parameters": 3}, {}, "does not hold a usable model"),
    "unknown parameters": ({"parameters": {"x": 1}}, {}, "does not hold a usable model"),
    "unknown types": (
        {"parameters": {"solver": {"type": "os.system", "fields": {}}}},
        {},
        "does not hold a usable model",
    ),
    "no attributes": ({"attributes": {}}, {}, "does not hold a usable model"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_changed_file_is_refused_in_one_sentence(tmp_path, model, name):
    header, arrays, message = HOSTILE[name]
    path = tmp_path / "m.npz"
    rewritten(path, model, header, **arrays)
    with pytest.raises(ValueError, match=message) as error:
        TLNMF.load(path)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)


def test_files_that_unpack_to_much_more_are_refused(tmp_path):
    path = tmp_path / "m.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.npy", bytes(10**7))
    with pytest.raises(ValueError, match="compressed"):
        TLNMF.load(path)
    np.savez(path, header=np.array("[]"))
    with pytest.raises(ValueError, match="not an object"):
        TLNMF.load(path)
    huge = np.lib.format.magic(1, 0) + b"v\0{'descr': '<f8', 'fortran_order': False,"
    huge = huge + b" 'shape': (1000000, 1000000), }".ljust(118 - len(huge) + 9) + b"\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.npy", huge)
    with pytest.raises(ValueError, match="damaged"):
        TLNMF.load(path)


def test_missing_files_and_other_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        TLNMF.load(tmp_path / "nothing.npz")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ValueError, match="damaged or not a phinmf file"):
        TLNMF.load(tmp_path / "text")


def usable(path, X):
    """Return whether a file loads as a model; assert that it then returns finite numbers."""
    try:
        model = TLNMF.load(path)
    except ValueError as error:
        assert_one_sentence(error, path)
        return False
    if model.device is None:
        assert np.isfinite(model.transform(X)).all()
        assert np.isfinite(model.score(X))
    return True


def test_every_array_is_checked(tmp_path, model, X):
    path = tmp_path / "m.npz"
    model.save(path)
    stored = storage.read(path, "model")
    plausible = {"transform_matrix_ negative", "transform_matrix_ turned", "atom_energies_ 1e+300"}
    plausible |= {"components_ shorter", "components_ longer"}  # models with fewer or more
    plausible |= {"atom_energies_ half", "atom_energies_ swapped bytes"}
    for what, arrays in changed_arrays(stored.arrays):
        write(path, stored.header, arrays)
        if usable(path, X) and not what.startswith("objectives_") and "too much" not in what:
            assert what in plausible


@pytest.mark.full
def test_every_field_of_the_header_is_checked(tmp_path, model, X):
    path = tmp_path / "m.npz"
    model.save(path)
    stored = storage.read(path, "model")
    old = stored.header
    fields = [(name,) for name in old]
    fields += [("attributes", name) for name in old["attributes"]]
    fields += [("parameters", name) for name in old["parameters"]]
    fields += [("history", "start"), ("history", "rows"), ("history", "rows", 0)]
    for what, header in changed_headers(old, fields):
        write(path, header, stored.arrays)
        if usable(path, X):
            assert not what.startswith(("('kind'", "('format'", "('attributes',)"))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("parameters", "sparsity"), float("nan"), "sparsity is nan, but a finite number ≥ 0"),
        (("parameters", "sparsity"), -1, "sparsity is -1, but a finite number ≥ 0"),
        (("parameters", "floor"), -1, "floor is -1, but a finite number ≥ 0"),
        (("parameters", "floor"), None, "floor is None, but a finite number ≥ 0"),
        (("parameters", "n_components"), 0, "n_components is 0, but a whole number ≥ 1"),
        (("parameters", "n_threads"), 0, "n_threads is 0, but a whole number ≥ 1"),
        (("parameters", "divergence"), "kl", "divergence is 'kl', which is not known"),
        (("parameters", "engine"), "abacus", "engine is 'abacus', which is not known"),
        (("parameters", "fixed"), 3, "fixed is 3, but 'Phi', 'W', 'H'"),
        (("attributes", "scale_"), 1e-320, "its scale is 1e-320, whose square leaves the range"),
        (("attributes", "scale_"), 1e308, r"its scale is 1e\+308, whose square leaves the range"),
        (("attributes", "scale_"), 0, "its scale is 0"),
        (("attributes", "scale_"), "1", "its scale is '1'"),
        (("attributes", "floor_"), -1, "its floor is -1"),
        (("attributes", "n_iter_"), None, "how many iterations"),
    ],
)
def test_numbers_that_no_fit_has_are_refused(tmp_path, model, place, value, message):
    path = tmp_path / "m.npz"
    model.save(path)
    header, arrays = storage.read(path, "model")
    header[place[0]][place[1]] = value
    write(path, header, arrays)
    with pytest.raises(ValueError, match=message) as error:
        TLNMF.load(path)
    assert_one_sentence(error.value, path)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_components_beyond_the_range_are_refused(tmp_path, model, size):
    rewritten(tmp_path / "m.npz", model, components_=size * model.components_)
    with pytest.raises(ValueError, match="too large or too small"):
        TLNMF.load(tmp_path / "m.npz")


class Own(Gaussian):
    """A divergence of the user."""


class Other(Own):
    def bound(self, v, v_hat, eps):
        return 2 * super().bound(v, v_hat, eps)


@pytest.mark.parametrize("given", ["gaussian", DIVERGENCES["gaussian"], Gaussian()])
def test_a_registered_divergence_is_saved_by_its_name(tmp_path, X, given):
    path = tmp_path / "m.npz"
    TLNMF(2, divergence=given, max_iter=2, tol=0).fit(X).save(path)
    assert TLNMF.load(path).divergence == "gaussian"
    gaussian = DIVERGENCES["gaussian"]
    assert TLNMF.load(path, divergence=gaussian).divergence is gaussian
    with pytest.raises(ValueError, match="its divergence is 'gaussian', but 'itakura-saito' is"):
        TLNMF.load(path, divergence="itakura-saito")


@pytest.mark.parametrize("given", [Beta(0.5), Beta(-0.25), Beta(0), "euclidean", Beta(2)])
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


def test_a_divergence_of_the_users_own_is_given_again_and_compared(tmp_path, X):
    path = tmp_path / "m.npz"
    model = TLNMF(2, divergence=Own(), max_iter=2, tol=0, random_state=0).fit(X)
    model.save(path)
    with pytest.raises(ValueError, match="is not one of phinmf's: pass it as divergence=") as error:
        TLNMF.load(path)
    assert_one_sentence(error.value, path)
    for other in ("gaussian", Other(), type("Own", (Other,), {})()):
        with pytest.raises(ValueError, match="its divergence is 'Own .*', but '.*' is given"):
            TLNMF.load(path, divergence=other)
    own = Own()
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


@pytest.mark.skipif(os.name == "nt", reason="there are no pipes in folders")
def test_folders_and_pipes_are_not_replaced(tmp_path, model, X):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path in (tmp_path, fifo, "", ".", "x\0y", tmp_path / "none" / "model.npz", 3, b"x", []):
        for how in (model.save, TLNMF.load):
            with pytest.raises((ValueError, TypeError, FileNotFoundError)) as caught:
                how(path)
            assert "phinmf" in str(caught.traceback[-1].path)
        with pytest.raises((ValueError, TypeError, FileNotFoundError)) as caught:
            tl_nmf(X.T, 1, max_iter=6, tol=0, checkpoint=Checkpoint(path, every=0))
        assert "phinmf" in str(caught.traceback[-1].path)
    assert fifo.is_fifo()
    assert [p.name for p in tmp_path.iterdir()] == ["fifo"]
