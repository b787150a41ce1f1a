import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phinmf import from_frames, to_frames
from phinmf.audio.frames import window


@given(n=st.integers(1, 200), half=st.integers(1, 20), channels=st.integers(0, 3))
def test_round_trip(n, half, channels):
    shape = (n, channels) if channels else (n,)
    y = np.random.default_rng(n).standard_normal(shape)
    before = y.copy()
    Y = to_frames(y, 2 * half)
    back = from_frames(Y, n)
    assert back.shape == y.shape
    assert np.abs(back - y).max() <= 1e-12 * np.abs(y).max()
    assert np.array_equal(y, before)
    assert Y.shape[-2:] == (2 * half, -(-n // half) + 1)


def test_frames_are_contiguous_and_keep_the_dtype(rng):
    Y = to_frames(rng.standard_normal(100).astype(np.float32), 8)
    assert Y.dtype == np.float32
    assert Y.flags.f_contiguous
    assert from_frames(Y, 100).dtype == np.float32


def test_the_paper_s_recording_gives_5418_frames():
    assert to_frames(np.ones(1_191_735), 440).shape == (440, 5418)


def test_window_squares_sum_to_one():
    w = window(440)
    assert np.abs(w[:220] ** 2 + w[220:] ** 2 - 1).max() < 1e-15


def test_frames_preserve_energy(rng):
    y = rng.standard_normal(1000)
    assert np.isclose((to_frames(y, 40) ** 2).sum(), (y**2).sum(), rtol=1e-13)


def test_bad_signals():
    with pytest.raises(ValueError, match="M is 7.*use 8"):
        to_frames(np.ones(100), 7)
    with pytest.raises(ValueError, match="n ≥ 1"):
        to_frames(np.ones(0), 8)
    with pytest.raises(ValueError, match="M is 0"):
        to_frames(np.ones(10), 0)
    with pytest.raises(ValueError, match="1 NaN or infinite"):
        to_frames(np.array([1.0, np.nan]), 8)
    with pytest.raises(ValueError, match="length is 1000.*from 17 to 20 for 6 frames of 8"):
        from_frames(to_frames(np.ones(18), 8), 1000)


@pytest.mark.parametrize(("n", "M"), [(1000, 8), (1003, 16), (40, 32), (5000, 440)])
@pytest.mark.parametrize("channels", [0, 2])
def test_transposed_frames_get_advice(n, M, channels, rng):
    y = rng.standard_normal((n, channels) if channels else n)
    Y = to_frames(y, M)
    how = r"Y\.swapaxes\(1, 2\)" if channels else r"Y\.T"
    with pytest.raises(ValueError, match=f"frames of {M} samples are probably.* transpose, {how}$"):
        from_frames(Y.swapaxes(-1, -2), n)
    assert np.allclose(from_frames(Y, n), y)


def test_frames_of_components_get_advice(rng):
    Y = to_frames(rng.standard_normal((100, 2)), 8)
    with pytest.raises(ValueError, match=r"\(3, 2, 8, 26\).* one component .*Result.to_sound"):
        from_frames(np.stack([Y] * 3), 100)
