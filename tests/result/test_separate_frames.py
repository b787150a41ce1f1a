"""From a result back to sound: the frames of the components add up to those of the recording."""

import numpy as np
import pytest
from sound_files import tones

import phinmf
from phinmf.linalg.manifold import random_orthogonal
from phinmf.result.masks import component_frames

y = tones(1500)
SHORT = {"max_iter": 5, "tol": 0, "random_state": 0, "engine": "array"}  # nothing is compiled


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sound", [y[:, 0], y])
@pytest.mark.parametrize("how", [{}, {"n_atoms": 8}, {"divergence": "euclidean"}])
def test_components_add_up_to_the_sound(sound, dtype, how):
    sound = sound.astype(dtype)
    Y = phinmf.to_frames(sound, 32)
    result = phinmf.tl_nmf(Y, 3, **SHORT, **how)
    parts = result.separate(Y)
    assert parts.shape == (3, *Y.shape)
    assert parts.dtype == dtype
    sounds = [phinmf.from_frames(part, len(sound)) for part in parts]
    atol = 1e-5 if dtype == np.float32 else 1e-12
    assert np.allclose(sum(sounds), sound, atol=atol)
    assert np.array_equal(result.to_sound(Y, len(sound)), sounds)
    assert result.to_sound(Y, len(sound)).dtype == dtype


@pytest.mark.parametrize("equal", [1, 2, 5, 8])
@pytest.mark.parametrize("channels", [(), (2,)])
@pytest.mark.parametrize("floor", [0.0, 1e-3])
def test_atoms_may_share_a_mask(rng, equal, channels, floor):
    Y, Phi = rng.standard_normal((*channels, 8, 9)), random_orthogonal(8, rng)
    W, H = rng.random((8, 3)), rng.random((3, 9))
    W[rng.choice(8, equal, replace=False)] = rng.random(3)
    for k, part in enumerate(component_frames(Y, Phi, W, H, floor)):
        mask = (np.outer(W[:, k], H[k]) + floor / 3) / (W @ H + floor)
        assert np.allclose(part, Phi.T @ (mask * (Phi @ Y)), atol=1e-14)


def test_silence_stays_silent():
    Y = np.zeros((4, 3))
    parts = list(component_frames(Y, np.eye(4), np.ones((4, 2)), np.zeros((2, 3)), 0.0))
    assert all(np.array_equal(part, Y) for part in parts)


@pytest.mark.parametrize("level", [1e-25, 1e-18, 1e18, 1e25])
def test_frames_in_single_precision_may_have_any_level(level):
    """The fit is in double precision; its factors are beyond single precision."""
    Y = phinmf.to_frames(y[:, 0], 32)
    result = phinmf.tl_nmf(level * Y, 2, **SHORT)
    sounds = result.to_sound((level * Y).astype(np.float32), len(y))
    assert sounds.dtype == np.float32
    total = sounds.sum(axis=0, dtype=float) / level
    assert np.allclose(total, y[:, 0], atol=1e-5 * abs(y).max())
    usual = phinmf.tl_nmf(Y, 2, **SHORT).to_sound(Y, len(y))
    assert np.allclose(sounds / level, usual, atol=1e-3 * abs(y).max())


@pytest.mark.full
def test_tensors_stay_tensors_and_are_saved_as_arrays(tmp_path):
    torch = pytest.importorskip("torch")
    Y = phinmf.to_frames(torch.from_numpy(y[:, 0]), 32)
    result = phinmf.tl_nmf(Y, 2, **SHORT)
    parts = result.separate(Y)
    assert torch.is_tensor(parts)
    assert torch.allclose(parts.sum(0), Y)
    sounds = result.to_sound(Y, len(y))
    assert sounds.shape == (2, len(y))
    assert torch.equal(sounds[0], phinmf.from_frames(parts[0], len(y)))
    result.save(tmp_path / "r.npz")
    assert isinstance(phinmf.Result.load(tmp_path / "r.npz").H, np.ndarray)


SOUND = phinmf.to_frames(y[:, 0], 32)
RESULT = phinmf.tl_nmf(SOUND, 2, **SHORT)
ODD = phinmf.tl_nmf(SOUND[:31], 2, **SHORT)
ALONE = phinmf.learn_transform(SOUND, np.ones_like(SOUND), max_iter=1, tol=0, engine="array")
OTHER = "for other frames use TLNMF, or phinmf.unmix with a"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RESULT.separate(SOUND[:, :-1]), OTHER),
        (lambda: RESULT.separate("a.wav"), "Y is 'a.wav', but frames"),
        (lambda: ODD.to_sound(SOUND[:31], len(y)), "31 samples, .* an even number: use separate"),
        (lambda: RESULT.to_sound(SOUND, 10), "length is 10, but Y has 95 frames"),
        (lambda: ALONE.separate(SOUND), "one of learn_transform, which has no activations"),
    ],
)
def test_what_cannot_be_separated_is_refused_with_advice(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


@pytest.mark.full
def test_dask_arrays_are_refused_with_advice():
    lazy = pytest.importorskip("dask.array").from_array(SOUND)
    with pytest.raises(ValueError, match=r"pass Y\.compute\(\)"):
        RESULT.separate(lazy)
