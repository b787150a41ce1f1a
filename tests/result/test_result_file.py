"""A saved result is loaded with the same bits."""

import os

import numpy as np
import pytest
from forging import refusal
from problems import notes

import phinmf
from phinmf import Result
from phinmf.divergences import DIVERGENCES, Beta, Gaussian, Penalty

Y = notes(M=8, n=100)
SHORT = {"max_iter": 3, "tol": 0, "random_state": 0, "engine": "array"}  # nothing is compiled


def fitted(**how):
    return phinmf.tl_nmf(Y, 2, **SHORT | how)


RESULTS = {
    "tl_nmf": fitted,
    "single precision": lambda: phinmf.tl_nmf(Y.astype(np.float32), 2, **SHORT),
    "channels": lambda: phinmf.tl_nmf(np.stack([Y, Y[::-1]]), 2, **SHORT),
    "no iterations": lambda: fitted(max_iter=0),
    "fixed transform": lambda: fitted(solver=None, divergence="euclidean"),
    "few atoms": lambda: fitted(n_atoms=3),
    "smooth": lambda: fitted(smoothness=0.5, divergence=Beta(0.5)),
    "left out": lambda: fitted(sample_weight=np.arange(Y.shape[1]) >= 3),
    "learn_transform": lambda: phinmf.learn_transform(
        Y, np.ones_like(Y), max_iter=3, tol=0, engine="array"
    ),
}


def assert_same(a, b):
    """Every field is equal, bit by bit."""
    for name in ("Phi", "W", "H"):
        one, other = getattr(a, name), getattr(b, name)
        assert (one is None) == (other is None)
        assert one is None or (one.dtype == other.dtype and np.array_equal(one, other))
    for name in ("objective", "divergence", "penalty", "floor", "scale", "n_atoms", "energy"):
        assert getattr(a, name) == getattr(b, name)
        assert type(getattr(a, name)) is type(getattr(b, name))
    assert a.status is b.status
    assert a.terms == b.terms
    assert repr((a.history.start, a.history.rows)) == repr((b.history.start, b.history.rows))


@pytest.mark.parametrize("name", RESULTS)
def test_a_loaded_result_has_the_same_bits(tmp_path, name):
    result, path = RESULTS[name](), tmp_path / "r.npz"
    result.save(path)
    again = Result.load(path)
    assert_same(again, result)
    again.save(path)  # the file is replaced
    assert_same(Result.load(path), result)
    assert os.listdir(tmp_path) == ["r.npz"]


@pytest.mark.full
def test_tensors_are_saved_as_arrays(tmp_path):
    torch = pytest.importorskip("torch")
    result = phinmf.tl_nmf(torch.from_numpy(Y), 2, **SHORT)
    result.save(tmp_path / "r.npz")
    again = Result.load(tmp_path / "r.npz")
    assert isinstance(again.H, np.ndarray)
    assert np.array_equal(again.Phi, result.Phi.numpy())


class OwnDivergence(Gaussian):
    """A divergence of the user."""


class Other(OwnDivergence):
    def bound(self, v, v_hat, eps):
        return 2 * super().bound(v, v_hat, eps)


def test_a_divergence_of_the_users_own_is_passed_again_and_compared(tmp_path):
    path, own = tmp_path / "r.npz", OwnDivergence()
    fitted(divergence=own, sparsity=2.0, smoothness=0.5).save(path)
    with pytest.raises(ValueError, match="its divergence .* pass it as divergence=") as error:
        Result.load(path)
    refusal(error.value, path)
    for other in (Other(), Gaussian()):
        with pytest.raises(ValueError, match="its divergence is .*, but .* is given"):
            Result.load(path, divergence=other)
    terms = Result.load(path, divergence=own).terms
    assert terms.divergence is own
    assert terms.penalty == Penalty(2.0, 0.5)


@pytest.mark.parametrize("registered_by", ["writer", "reader"])
def test_an_own_divergence_may_be_registered_in_one_process_only(
    tmp_path, monkeypatch, registered_by
):
    path, own = tmp_path / "r.npz", OwnDivergence()
    with monkeypatch.context() as patch:
        if registered_by == "writer":
            patch.setitem(DIVERGENCES, "own", own)
        fitted(divergence=own).save(path)
    if registered_by == "reader":
        monkeypatch.setitem(DIVERGENCES, "own", own)
    assert Result.load(path, divergence=own).terms.divergence is own
