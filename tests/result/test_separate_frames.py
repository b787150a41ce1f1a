"""From a result back to sound: the frames of the components add up to those of the recording."""

import numpy as np
import pytest
from sound_files import tones

import phinmf
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
    as_unmixing = component_frames(Y, result.Phi, result.W, result.H, 1e-8 * result.scale**2)
    expected = [phinmf.from_frames(part, len(sound)) for part in as_unmixing]
    assert np.allclose(sounds, expected, atol=atol)


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


def test_a_loaded_result_separates_the_same(tmp_path):
    Y = phinmf.to_frames(y, 32)
    result = phinmf.tl_nmf(Y, 2, **SHORT)
    result.save(tmp_path / "r.npz")
    assert np.array_equal(phinmf.Result.load(tmp_path / "r.npz").separate(Y), result.separate(Y))
    assert np.allclose(result.separate(Y.astype(np.float32)), result.separate(Y), atol=1e-5)


@pytest.mark.full
def test_tensors_stay_tensors():
    torch = pytest.importorskip("torch")
    Y = phinmf.to_frames(torch.from_numpy(y[:, 0]), 32)
    result = phinmf.tl_nmf(Y, 2, **SHORT)
    parts = result.separate(Y)
    assert torch.is_tensor(parts)
    assert torch.allclose(parts.sum(0), Y)
    sound = phinmf.from_frames(parts[0], len(y))
    assert torch.is_tensor(sound)
    sounds = result.to_sound(Y, len(y))
    assert torch.is_tensor(sounds)
    assert sounds.shape == (2, len(y))
    assert torch.equal(sounds[0], sound)


def test_other_frames_are_refused_with_advice():
    Y = phinmf.to_frames(y[:, 0], 32)
    result = phinmf.tl_nmf(Y, 2, **SHORT)
    for other in (Y[:, :-1], Y[:, :-1].T, Y[:16]):
        with pytest.raises(ValueError, match="for other frames use TLNMF, or phinmf.unmix with a"):
            result.separate(other)
    with pytest.raises(ValueError, match=r"fit are columns: pass the transpose, Y\.T$"):
        result.separate(Y.T)
    with pytest.raises(ValueError, match=r"pass the transpose, Y\.swapaxes\(1, 2\)$"):
        result.to_sound(Y.T[None], len(y))
    with pytest.raises(ValueError, match="Y is complex, as an STFT is"):
        result.separate(Y + 1j)
    with pytest.raises(TypeError, match="Y names the file 'a.wav', but frames are needed"):
        result.separate("a.wav")
    odd = phinmf.tl_nmf(Y[:31], 2, **SHORT)
    with pytest.raises(ValueError, match="fit have 31 samples, .* an even number: use separate"):
        odd.to_sound(Y[:31], len(y))
    with pytest.raises(ValueError, match="length is 10, but a whole number from"):
        result.to_sound(Y, 10)
    alone = phinmf.learn_transform(Y, np.ones_like(Y), max_iter=1, tol=0, engine="array")
    with pytest.raises(ValueError, match="one of learn_transform, which has no activations: find"):
        alone.separate(Y)
    with pytest.raises(ValueError, match=r"NaN"):
        result.separate(np.full_like(Y, np.nan))


@pytest.mark.full
def test_dask_arrays_are_refused_with_advice():
    dask_array = pytest.importorskip("dask.array")
    Y = phinmf.to_frames(y[:, 0], 32)
    result = phinmf.tl_nmf(Y, 2, **SHORT)
    with pytest.raises(ValueError, match=r"pass Y\.compute\(\)"):
        result.separate(dask_array.from_array(Y))
