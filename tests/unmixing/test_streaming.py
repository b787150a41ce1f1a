"""Block by block is the same as all at once."""

import numpy as np
import pytest
from sound_files import RATE, tones

import phinmf
from phinmf.unmixing.learning import Options, learn, some_frames, window_length
from phinmf.unmixing.masking import component_frames
from phinmf.unmixing.streaming import Separation, in_blocks_of


@pytest.fixture(scope="module")
def model():
    y = tones(channels=2)
    options = Options(n_components=3, window=64, max_time=1, seed=0)
    return learn(lambda s, n: y[s : s + n], *y.shape, RATE, options)


@pytest.mark.parametrize("n", [1, 31, 32, 33, 64, 700, 6000])
@pytest.mark.parametrize("frames", [1, 5, 256])
def test_blocks_of_any_size_give_the_same(model, n, frames):
    y = tones(6000, 2)[:n]
    Y = phinmf.to_frames(y, 64)
    H = model.activations(Y)
    whole = [
        phinmf.from_frames(part, n)
        for part in component_frames(Y, model.Phi, model.W, H, model.floor)
    ]
    for size in (7, 100, 10_000):
        separation = Separation(model, 2)
        got = list(separation((y[i : i + size] for i in range(0, n, size)), frames))
        assert np.array_equal(np.concatenate([signal for signal, _ in got]), y)
        parts = np.concatenate([part for _, part in got], axis=1)
        assert np.allclose(parts, whole, atol=1e-12)
        assert np.allclose(parts.sum(axis=0), y, atol=1e-14)
        assert np.allclose(np.concatenate(separation.activations, axis=1), H, rtol=1e-6, atol=1e-12)


def test_single_precision_is_enough_for_24_bits(model):
    y = tones(2000, 2)
    double = np.concatenate([p for _, p in Separation(model, 2)([y])], axis=1)
    single = np.concatenate([p for _, p in Separation(model, 2, None, np.float32)([y])], axis=1)
    assert np.abs(single.sum(axis=0) - y).max() < 1e-6
    assert np.abs(single - double).max() < 1e-5


def test_rechunking(rng):
    y = rng.standard_normal((100, 1))
    for size in (1, 7, 100, 1000):
        pieces = list(in_blocks_of(size, (y[i : i + 13] for i in range(0, 100, 13))))
        assert all(len(piece) == size for piece in pieces[:-1])
        assert np.array_equal(np.concatenate(pieces), y)


def test_a_long_signal_is_learned_on_stretches_of_it(rng):
    y = rng.standard_normal((200_000, 1))
    asked = []

    def read(s, n):
        asked.append((s, n))
        return y[s : s + n]

    Y = some_frames(read, len(y), 64, 512, rng)
    assert Y.shape[:2] == (1, 64)
    assert 400 <= Y.shape[2] <= 512
    assert sum(n for _, n in asked) < 20_000
    everything = phinmf.to_frames(y[:, 0], 64)
    start = asked[0][0] // 32
    assert np.allclose(Y[0, :, 0], everything[:, start + 1], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("window", "samples"),
    [("40ms", 320), ("0.04s", 320), (321, 320), ("64", 64), (63.9, 64), ("1 ms", 8)],
)
def test_windows(window, samples):
    assert window_length(window, 8000) == samples


@pytest.mark.parametrize("window", ["", "40", "soon", "-1", "0", "1ms ms", "99s", "1e3"])
def test_windows_that_are_none(window):
    if window == "40":
        assert window_length(window, 8000) == 40
        return
    with pytest.raises(ValueError, match=r"window is .* such as 40ms"):
        window_length(window, 8000)
