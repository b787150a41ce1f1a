"""`unmix`: a recording in memory, its components and its model."""

from dataclasses import replace

import numpy as np
import pytest
from sound_files import RATE, tones

import phinmf
from phinmf import UnmixModel

QUICK = {"window": 64, "max_time": 0.3, "seed": 0}


@pytest.mark.parametrize("channels", [None, 1, 2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_components_add_up_and_come_by_energy(channels, dtype):
    y = tones(3000, channels or 1).astype(dtype)
    y = y[:, 0] if channels is None else y
    u = phinmf.unmix(y, RATE, np.int64(3), **QUICK)
    assert u.components.shape == (3, *y.shape)
    assert u.components.dtype == dtype
    assert u.null_db < -126
    energies = np.square(u.components).reshape(3, -1).sum(axis=1)
    assert (np.diff(energies) <= 0).all()
    assert (u.Phi.shape, u.W.shape, len(u.H)) == ((64, 64), (32, 3), 3)
    assert len(u.history)
    assert f"{u.null_db:.0f} dB" in repr(u)
    assert not u.exact


def test_stereo_is_not_a_downmix():
    """Channels of opposite sign would cancel in a sum; shared masks treat them alike."""
    y = tones(3000)
    u = phinmf.unmix(np.concatenate([y, -y], axis=1), RATE, 2, **QUICK)
    assert np.allclose(u.components[..., 0], -u.components[..., 1])
    assert np.allclose(u.components[..., 0].sum(axis=0), y[:, 0])


def test_the_same_seed_gives_the_same_bits():
    how = {"window": 64, "seed": 3, "solver": None}
    first, second = (phinmf.unmix(tones(3000), RATE, 3, **how) for _ in range(2))
    assert np.array_equal(first.components, second.components)


def test_silence_that_a_model_takes_apart_is_silence():
    model = phinmf.unmix(tones(2000), RATE, 2, **QUICK).model
    u = phinmf.unmix(np.zeros((2000, 2)), RATE, model=model)
    assert not u.components.any()
    assert u.exact
    assert u.null_db == -np.inf
    assert "bit for bit" in repr(u)


def test_a_notebook_shows_the_player():
    assert phinmf.unmix(tones(3000, 2), RATE, 3, **QUICK)._repr_html_().startswith("<iframe")


# ---- models --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def unmixing():
    return phinmf.unmix(tones(4000, 2), RATE, 3, window=64, seed=0)


def test_a_saved_model_is_the_same_and_finds_its_components(unmixing, tmp_path):
    model, path = unmixing.model, tmp_path / "model.npz"
    model.save(path)
    again = UnmixModel.load(path)
    assert (again.M, again.K, len(again.history)) == (64, 3, len(model.history))
    assert np.allclose(again.Phi, model.Phi, atol=1e-15)
    assert np.array_equal(again.W, model.W)
    for name in ("scale", "floor", "sparsity", "sample_rate", "stop_reason"):
        assert getattr(again, name) == getattr(model, name), name
    other = tones(2000, seed=1)
    expected = phinmf.unmix(other, RATE, model=model)
    assert expected.components.shape == (3, 2000, 1)
    assert expected.null_db < -200
    for saved in (path, str(path)):
        u = phinmf.unmix(other, RATE, model=saved)
        assert np.allclose(u.components, expected.components, atol=1e-12)


def test_models_that_do_not_fit(unmixing, tmp_path):
    path = tmp_path / "model.npz"
    unmixing.model.save(path)
    for model, name in ((path, "model.npz"), (unmixing.model, "the model")):
        with pytest.raises(ValueError, match=f"{name} was learned at 8000 Hz, but .* 16000 Hz"):
            phinmf.unmix(tones(2000), 16_000, model=model)
    with pytest.raises(TypeError, match="model is int"):
        phinmf.unmix(tones(2000), RATE, model=3)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        phinmf.unmix(tones(2000), RATE, model=tmp_path / "none.npz")
    with pytest.raises(ValueError, match="n_components is 4, but the model has 3 components"):
        phinmf.unmix(unmixing.mixture, RATE, 4, model=unmixing.model)
    with pytest.raises(ValueError, match="a model has its components already"):
        phinmf.unmix(tones(2000), RATE, model=unmixing.model, like={"a": (tones(2000), RATE)})
    for K in (None, 3, "auto"):
        assert len(phinmf.unmix(unmixing.mixture, RATE, K, model=unmixing.model).components) == 3
    odd = replace(unmixing.model, Phi=np.eye(3), W=np.full((3, 2), 1 / 3), n_atoms=3)
    odd.save(path)
    with pytest.raises(ValueError, match="windows of 3 samples, but an even number"):
        UnmixModel.load(path)


#: What `Unmixing.refine` cannot use, and what the error names.
NO_MARKS = [
    ({"marks": 5}, "marks is 5"), ({"marks": None}, "marks is None"),
    ({"marks": "a\0b"}, "null character"), ({"groups": [[1], [2]]}, "groups is"),
    ({"groups": {"a": 1}}, "a is 1"), ({"groups": {"a": "12"}}, "a is '12'"),
    ({"groups": {"a": ["1"]}}, "component of a is '1'"), ({"groups": {"a": [True]}}, "is True"),
    ({"groups": {1: [1]}}, "each must be a text"), ({"new": "voice"}, "new is 'voice'"),
    ({"new": 5}, "new is 5"), ({"new": [5]}, "each must be a text"),
    ({"n_threads": 0}, "n_threads is 0"), ({"n_threads": "2"}, "n_threads is '2'"),
]  # fmt: skip


@pytest.fixture(scope="module")
def two_tones():
    return phinmf.unmix(tones(3000)[:, 0], RATE, 2, **QUICK)


@pytest.mark.parametrize(("values", "said"), NO_MARKS, ids=[str(values) for values, _ in NO_MARKS])
def test_what_is_no_mark_or_group_is_refused(two_tones, values, said):
    usual = {"marks": [{"group": "a", "end": 0.1}], "groups": {"a": [1]}}
    with pytest.raises(phinmf.errors.UserError, match=said):
        two_tones.refine(**usual | values)


def test_groups_of_numpy_are_groups(two_tones, tmp_path):
    u = two_tones.refine([{"group": "a", "end": 0.1}], {"a": np.array([1])})
    v = two_tones.refine([{"group": "a", "end": 0.1}], {"a": [1]})
    assert np.array_equal(u.components, v.components)
    assert UnmixModel.load(saved(u.model, tmp_path)).groups == v.model.groups


def saved(model, folder):
    model.save(folder / "model.npz")
    return folder / "model.npz"


def test_a_model_must_be_one(two_tones):
    with pytest.raises(TypeError, match="model is Unmixing"):
        phinmf.unmix(two_tones.mixture, RATE, model=two_tones)
