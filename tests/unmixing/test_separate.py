"""Block by block is the same as all at once."""

import threading

import numpy as np
import pytest
from sound_files import RATE, tones

import phinmf
from phinmf.audio.sources import ArraySource, in_blocks_of
from phinmf.result.masks import component_frames
from phinmf.unmixing.learn import learn, sampled_frames
from phinmf.unmixing.options import UnmixOptions
from phinmf.unmixing.separate import ArraySink, Separator, separate


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
        separation = Separator(model, 2)
        got = list(separation((y[i : i + size] for i in range(0, n, size)), frames))
        assert np.array_equal(np.concatenate([signal for signal, _ in got]), y)
        parts = np.concatenate([part for _, part in got], axis=1)
        assert np.allclose(parts, whole, atol=1e-12)
        assert np.allclose(parts.sum(axis=0), y, atol=1e-14)
        assert np.allclose(np.concatenate(separation.activations, axis=1), H, rtol=1e-6, atol=1e-12)


def test_single_precision_is_enough_for_24_bits(model):
    y = tones(2000, 2)
    double = np.concatenate([p for _, p in Separator(model, 2)([y])], axis=1)
    single = np.concatenate([p for _, p in Separator(model, 2, None, np.float32)([y])], axis=1)
    assert np.abs(single.sum(axis=0) - y).max() < 1e-6
    assert np.abs(single - double).max() < 1e-5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_bits_do_not_depend_on_the_number_of_threads(model, dtype):
    y = tones(20_000, 2)
    one, two, five = (list(Separator(model, 2, n, dtype)([y], 16)) for n in (1, 2, 5))
    for (signal, parts), *others in zip(one, two, five, strict=True):
        for same_signal, same_parts in others:
            assert np.array_equal(signal, same_signal)
            assert np.array_equal(parts, same_parts)


def test_an_error_in_a_thread_is_raised_and_the_threads_end(model, monkeypatch):
    calls = []

    def failing(self, Y, n_threads):
        calls.append(Y.shape)
        raise ValueError("the frames reach 1e99")

    monkeypatch.setattr(type(model), "activations", failing)
    with pytest.raises(ValueError, match="the frames reach 1e99"):
        list(Separator(model, 2, 2)([tones(20_000, 2)], 4))
    assert len(calls) <= 4  # of 157: nothing new was started
    assert not [t for t in threading.enumerate() if t.name.startswith("phinmf")]


def test_rechunking(rng):
    y = rng.standard_normal((100, 1))
    for size in (1, 7, 100, 1000):
        pieces = list(in_blocks_of(size, (y[i : i + 13] for i in range(0, 100, 13))))
        assert all(len(piece) == size for piece in pieces[:-1])
        assert np.array_equal(np.concatenate(pieces), y)


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


def test_a_sink_gets_all_samples_in_order_and_progress_ends_at_one(model):
    y = tones(20_000, 2)
    source, told = ArraySource(y, RATE), []
    sink = ArraySink(model.K, source, np.float64)
    H = separate(source, model, sink, progress=lambda stage, share: told.append(share))
    whole = np.concatenate([c for _, c in Separator(model, 2)([y])], axis=1)
    assert np.array_equal(sink.components, whole)
    assert H.shape == (3, phinmf.to_frames(y, 64).shape[2])
    assert told == sorted(told)
    assert told[-1] == 1
