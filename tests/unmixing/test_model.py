"""The model of an unmixing: saved, loaded, and used on other recordings."""

from dataclasses import replace

import numpy as np
import pytest
from sound_files import RATE, tones

import phinmf
from phinmf import UnmixModel


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


def test_another_number_of_components_than_that_of_the_model_is_refused(unmixing):
    K, rate = unmixing.model.K, unmixing.sample_rate
    with pytest.raises(ValueError, match=f"n_components is {K + 1}, but the model has {K} compo"):
        phinmf.unmix(unmixing.mixture, rate, K + 1, model=unmixing.model)
    for given in (None, K, "auto"):
        again = phinmf.unmix(unmixing.mixture, rate, given, model=unmixing.model)
        assert len(again.components) == K
