"""Block by block is the same as all at once."""

import numpy as np
import pytest
from sound_files import RATE, tones

import phinmf
from phinmf.audio import ArraySource
from phinmf.result.masks import component_frames
from phinmf.unmixing.learn import learn, sampled_frames
from phinmf.unmixing.options import UnmixOptions
from phinmf.unmixing.separate import separated


@pytest.fixture(scope="module")
def model():
    y = tones(channels=2)
    options = UnmixOptions(n_components=3, window=64, max_time=1, seed=0)
    return learn(ArraySource(y, RATE), options)


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
        blocks = (y[i : i + size] for i in range(0, n, size))
        signals, parts, activations = zip(*separated(blocks, n, model, frames=frames), strict=True)
        assert np.array_equal(np.concatenate(signals), y)
        parts = np.concatenate(parts, axis=1)
        assert np.allclose(parts, whole, atol=1e-12)
        assert np.allclose(parts.sum(axis=0), y, atol=1e-14)
        assert np.allclose(np.concatenate(activations, axis=1), H, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_bits_do_not_depend_on_the_number_of_threads(model, dtype):
    y = tones(20_000, 2)
    one, two, five = (
        separated([y], len(y), model, n_threads=n, dtype=dtype, frames=16) for n in (1, 2, 5)
    )
    for first, *others in zip(one, two, five, strict=True):
        for other in others:
            assert all(map(np.array_equal, first, other))


def test_a_long_signal_is_learned_on_stretches_of_it(rng):
    y = rng.standard_normal((200_000, 1))
    asked = []

    class Watched(ArraySource):
        def read(self, start, n):
            asked.append((start, n))
            return super().read(start, n)

    Y = sampled_frames(Watched(y, RATE), 64, 512, rng)
    assert Y.shape[:2] == (1, 64)
    assert 400 <= Y.shape[2] <= 512
    assert sum(n for _, n in asked) < 20_000
    everything = phinmf.to_frames(y[:, 0], 64)
    start = asked[0][0] // 32
    assert np.allclose(Y[0, :, 0], everything[:, start + 1], rtol=1e-6, atol=1e-6)
