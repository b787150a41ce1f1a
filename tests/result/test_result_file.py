"""A saved result is loaded with the same bits; damaged and forged files get one sentence."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from forging import assert_one_sentence, changed_arrays, changed_headers, write
from problems import notes

import phinmf
from phinmf import Result, storage
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


def test_numpy_reads_the_file_without_pickle(tmp_path):
    result = fitted()
    result.save(tmp_path / "r.npz")
    with np.load(tmp_path / "r.npz", allow_pickle=False) as held:
        assert np.array_equal(held["W"], result.W)
        assert json.loads(str(held["header"]))["kind"] == "result"


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
    assert_one_sentence(error.value, path)
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


def test_terms_of_phinmf_need_not_be_passed(tmp_path):
    path = tmp_path / "r.npz"
    fitted(sparsity=3.0).save(path)
    assert Result.load(path).terms == (DIVERGENCES["itakura-saito"], Penalty(3.0))


def loads(path):
    """Return whether a file is read as a result; assert that an error is one sentence."""
    try:
        result = Result.load(path)
    except ValueError as error:
        assert_one_sentence(error, path)
        return False
    assert np.isfinite(result.Phi).all()
    return True


def test_every_array_is_checked(tmp_path):
    path = tmp_path / "r.npz"
    fitted().save(path)
    stored = storage.read(path, "result")
    plausible = {"Phi negative", "Phi turned", "H missing", "H narrower", "H 1e+300", "W 1e+300"}
    for what, arrays in changed_arrays(stored.arrays):
        write(path, stored.header, arrays)
        assert not loads(path) or what in plausible, what


WEIGHTS = ("sparsity", "smoothness")  #: of which any number from 0 is possible


def test_every_field_of_the_header_is_checked(tmp_path):
    path = tmp_path / "r.npz"
    fitted(smoothness=0.5).save(path)
    stored = storage.read(path, "result")
    old = stored.header
    fields = [(name,) for name in old]
    fields += [("numbers", name) for name in old["numbers"]]
    fields += [("terms", name) for name in old["terms"]]
    fields.append(("terms", "divergence", "type"))
    fields += [("history", "start"), ("history", "rows"), ("history", "rows", 0)]
    for what, header in changed_headers(old, fields):
        write(path, header, stored.arrays)
        if loads(path):
            legal = (
                "('version',) True",
                "('versions'",
                "('numbers'",
                "('history'",
                "('terms',) None",
                *(f"('terms', {name!r}) {value}" for name in WEIGHTS for value in (0, 3.5)),
            )
            assert what.startswith(legal), what
            assert "missing" not in what or what.startswith(
                ("('versions'", "('history', 'rows', 0")
            )


def test_other_files_are_refused(tmp_path):
    result, fifo = fitted(), tmp_path / "fifo"
    if os.name == "nt":  # where there are no pipes in folders
        fifo.mkdir()
    else:
        os.mkfifo(fifo)
    for path in (tmp_path, fifo, "", ".", "x\0y", tmp_path / "none" / "r.npz", 3, b"x", []):
        for how in (result.save, Result.load):
            with pytest.raises((ValueError, TypeError, FileNotFoundError)) as caught:
                how(path)
            assert "phinmf" in str(caught.traceback[-1].path)
    assert [path.name for path in tmp_path.iterdir()] == ["fifo"]
    phinmf.TLNMF(2, max_iter=2, tol=0).fit(Y.T).save(tmp_path / "m.npz")
    with pytest.raises(
        ValueError, match="holds 'model of TLNMF', but a result of phinmf is needed"
    ):
        Result.load(tmp_path / "m.npz")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ValueError, match="damaged or not a phinmf file"):
        Result.load(tmp_path / "text")


def test_a_file_that_cannot_be_completed_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "r.npz"
    fitted().save(path)
    before = path.read_bytes()
    monkeypatch.setattr(storage.os, "fsync", lambda file: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        fitted(max_iter=1).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["r.npz"]


def test_only_a_result_is_replaced(tmp_path):
    result, model = fitted(), phinmf.TLNMF(2, max_iter=2, tol=0, engine="array").fit(Y.T)
    other = tmp_path / "song.wav"
    other.write_bytes(b"RIFF")
    model.save(tmp_path / "model.npz")
    result.save(tmp_path / "result.npz")
    (tmp_path / "link").symlink_to(other)
    (tmp_path / "nothing").symlink_to(tmp_path / "missing")
    kept = {path: path.read_bytes() for path in tmp_path.iterdir() if path.exists()}
    for how, own in ((result.save, "result.npz"), (model.save, "model.npz")):
        for path in tmp_path.iterdir():
            if path.name != own:
                with pytest.raises(ValueError, match="exists and is not a|is a link to a file"):
                    how(path)
    assert kept == {path: path.read_bytes() for path in tmp_path.iterdir() if path.exists()}
    assert not (tmp_path / "missing").exists()
    (tmp_path / "empty").touch()
    result.save(tmp_path / "empty")
    assert Result.load(tmp_path / "empty").objective == result.objective


def test_files_of_others_and_places_without_files_are_named(tmp_path):
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    with pytest.raises(
        ValueError, match=r"other\.npz is not a file of phinmf, but a phinmf result"
    ):
        Result.load(tmp_path / "other.npz")
    with pytest.raises(ValueError, match="exists and is not a result of phinmf"):
        fitted().save(tmp_path / "other.npz")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no folder of processes")
def test_the_path_that_was_given_is_named_where_no_file_can_be_written():
    with pytest.raises(OSError, match=r"no file can be written here .*: '/proc/x\.npz'$"):
        fitted().save("/proc/x.npz")
