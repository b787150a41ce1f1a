"""The model of an unmixing: saved, loaded, and used on other recordings."""

from dataclasses import replace

import numpy as np
import pytest
from sound_files import RATE, tones

import phinmf
from phinmf import TLNMF, UnmixModel, storage


@pytest.fixture(scope="module")
def unmixing():
    return phinmf.unmix(tones(4000, 2), RATE, 3, window=64, seed=0)


def test_a_saved_model_is_the_same_model(unmixing, tmp_path):
    model = unmixing.model
    assert isinstance(model, UnmixModel)
    assert (model.M, model.K, model.sample_rate) == (64, 3, RATE)
    model.save(tmp_path / "model.npz")
    again = UnmixModel.load(tmp_path / "model.npz")
    assert np.allclose(again.Phi, model.Phi, atol=1e-15)
    assert np.array_equal(again.W, model.W)
    for name in ("scale", "floor", "sparsity", "sample_rate", "stop_reason"):
        assert getattr(again, name) == getattr(model, name), name
    assert len(again.history) == len(model.history)


@pytest.mark.parametrize("kind", ["object", "path", "text"])
def test_a_model_finds_its_components_in_another_recording(unmixing, tmp_path, kind):
    path = tmp_path / "model.npz"
    unmixing.model.save(path)
    model = {"object": unmixing.model, "path": path, "text": str(path)}[kind]
    u = phinmf.unmix(tones(2000, seed=1), RATE, model=model)
    assert u.components.shape == (3, 2000, 1)
    assert u.null_db < -200
    expected = phinmf.unmix(tones(2000, seed=1), RATE, model=unmixing.model)
    assert np.allclose(u.components, expected.components, atol=1e-12)


def test_models_that_do_not_fit(unmixing, tmp_path):
    path = tmp_path / "model.npz"
    unmixing.model.save(path)
    for model, name in ((path, "model.npz"), (unmixing.model, "the model")):
        with pytest.raises(ValueError, match=f"{name} was learned at 8000 Hz, but .* 16000 Hz"):
            phinmf.unmix(tones(2000), 16_000, model=model)
    with pytest.raises(TypeError, match="model is int, but the model of an unmixing or the path"):
        phinmf.unmix(tones(2000), RATE, model=3)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        phinmf.unmix(tones(2000), RATE, model=tmp_path / "none.npz")


@pytest.mark.parametrize("M", [1, 3])
def test_windows_of_an_odd_length_are_refused(unmixing, tmp_path, M):
    path = tmp_path / "model.npz"
    odd = replace(unmixing.model, Phi=np.eye(M), W=np.full((M, 2), 1 / M), n_atoms=M)
    odd.save(path)
    with pytest.raises(ValueError, match=f"windows of {M} samples, but an even number"):
        UnmixModel.load(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [("sample_rate", None), ("sample_rate", 0), ("sample_rate", "x"), ("sample_rate", True),
     ("sample_rate", 1e400), ("scale", 0), ("scale", 1e200), ("floor", -1), ("sparsity", "x"),
     ("n_atoms", 65), ("energy", 1.5), ("stop_reason", 3), ("history", [])],
)  # fmt: skip
def test_numbers_that_no_model_has_are_refused(unmixing, tmp_path, name, value):
    path = tmp_path / "model.npz"
    unmixing.model.save(path)
    header, arrays = storage.read(path, storage.UNMIX_MODEL)
    own = {k: v for k, v in header.items() if k not in ("format", "kind", "version")}
    storage.write(path, storage.UNMIX_MODEL, own | {name: value}, arrays)
    with pytest.raises(ValueError, match=r"model\.npz does not hold a usable model"):
        UnmixModel.load(path)


def test_models_of_unmix_and_of_tlnmf_do_not_replace_each_other(unmixing, tmp_path, rng):
    ours, theirs = tmp_path / "unmix.npz", tmp_path / "tlnmf.npz"
    fitted = TLNMF(2, max_iter=1, tol=0).fit(rng.standard_normal((40, 8)))
    for _ in range(2):  # each replaces its own
        unmixing.model.save(ours)
        fitted.save(theirs)
    with pytest.raises(ValueError, match=r"unmix\.npz exists and is not a model of TLNMF: name"):
        fitted.save(ours)
    with pytest.raises(ValueError, match=r"tlnmf\.npz exists and is not a model of unmix: name"):
        unmixing.model.save(theirs)
    assert UnmixModel.load(ours).K == unmixing.model.K
    assert TLNMF.load(theirs).n_components_ == 2
    with pytest.raises(ValueError, match="holds 'model of unmix', but a model of TLNMF is needed"):
        TLNMF.load(ours)
    with pytest.raises(ValueError, match="holds 'model of TLNMF', but a model of unmix is needed"):
        UnmixModel.load(theirs)


def test_another_number_of_components_than_that_of_the_model_is_refused(unmixing):
    K, rate = unmixing.model.K, unmixing.sample_rate
    with pytest.raises(ValueError, match=f"n_components is {K + 1}, but the model has {K} compo"):
        phinmf.unmix(unmixing.mixture, rate, K + 1, model=unmixing.model)
    for given in (None, K, "auto"):
        again = phinmf.unmix(unmixing.mixture, rate, given, model=unmixing.model)
        assert len(again.components) == K
