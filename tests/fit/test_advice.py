"""What is probably a mistake gets advice: one sentence that says what to pass instead."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from sounds import KINDS

import phinmf
from phinmf.analysis import atom_frequencies

SHORT = {"max_iter": 1, "tol": 0, "random_state": 0, "engine": "array"}
RNG = np.random.default_rng(0)
SOUND = RNG.standard_normal(2000)
Y = phinmf.to_frames(SOUND, 16)
POWER = np.abs(np.fft.rfft(phinmf.to_frames(SOUND, 64), axis=0)) ** 2


def one_sentence(text):
    return "\n" not in text and ". " not in text and len(text) < 250


def said(call):
    """Return the warnings of a call as texts."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert all(str(w.filename) == __file__ for w in caught)
    texts = [str(w.message) for w in caught]
    assert all(map(one_sentence, texts))
    return texts


FITS = {
    "tl_nmf": lambda Y: phinmf.tl_nmf(Y, 1, **SHORT),
    "TLNMF": lambda Y: phinmf.TLNMF(1, **SHORT).fit(Y.T),
    "learn_transform": lambda Y: phinmf.learn_transform(
        Y, np.ones(Y.shape), max_iter=1, tol=0, engine="array"
    ),
}


@pytest.mark.parametrize("name", FITS)
def test_a_spectrogram_is_told_apart_from_frames(name):
    (text,) = said(lambda: FITS[name](POWER))
    assert "no sample of the frames is negative" in text
    assert "phinmf.to_frames" in text
    assert said(lambda: FITS[name](Y)) == []


def test_a_spectrogram_is_legal_in_a_fixed_transform_and_as_a_tensor():
    assert said(lambda: phinmf.tl_nmf(POWER, 1, solver=None, **SHORT)) == []
    torch = pytest.importorskip("torch")
    assert len(said(lambda: phinmf.tl_nmf(torch.from_numpy(POWER), 1, **SHORT))) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_odd_sounds_are_not_taken_for_spectrograms(kind, rng):
    frames = KINDS[kind](16, 200, rng)
    frames[:, 5] *= 100
    assert said(lambda: phinmf.tl_nmf(frames, 1, **SHORT)) == []


@pytest.mark.parametrize("name", ["tl_nmf", "TLNMF"])
def test_frames_that_lie_the_other_way_are_noticed(name, monkeypatch):
    monkeypatch.setattr("phinmf.fit.advice.MANY_SAMPLES", 100)
    frames = phinmf.to_frames(SOUND, 8)
    assert frames.shape == (8, 501)
    (text,) = said(lambda: FITS[name](RNG.standard_normal((120, 5))))
    assert "there are 5 frames of 120 samples" in text
    assert "pass the transpose" in text
    assert said(lambda: FITS[name](frames)) == []


STEREO = RNG.standard_normal((2, 500))
MISTAKES = [
    (lambda: phinmf.tl_nmf(SOUND, 2), r"Y has 1 dimensions, but .*: phinmf.to_frames makes them"),
    (lambda: phinmf.tl_nmf("a.wav", 2), "Y names the file .a.wav., but frames .*frames_from_files"),
    (lambda: phinmf.tl_nmf(["a.wav", "b.wav"], 2), "Y names the file 'a.wav', .*frames_from_files"),
    (lambda: phinmf.tl_nmf(Path("a.wav"), 2), "Y names the file 'a.wav', .*phinmf.stream_frames"),
    (lambda: phinmf.tl_nmf(np.fft.rfft(Y, axis=0), 2), "as an STFT is, but frames .*to_frames"),
    (lambda: phinmf.TLNMF(2).fit(np.fft.rfft(Y, axis=0)), "X is complex, as an STFT is.*to_frames"),
    (lambda: phinmf.tl_nmf(Y, "12"), "n_components is '12', but a whole number is needed"),
    (lambda: phinmf.tl_nmf(Y, 0), "n_components is 0, but a whole number from 1 to 16"),
    (lambda: phinmf.tl_nmf(Y, 2.5), "n_components is 2.5, but a whole number"),
    (lambda: phinmf.tl_nmf(Y, 2, sparsity="10"), "sparsity is '10', but a finite number ≥ 0"),
    (lambda: phinmf.to_frames("a.wav", 16), "y names the file 'a.wav', .* soundfile.read"),
    (lambda: phinmf.to_frames(STEREO, 16), r"shape \(2, 500\), which is 2 samples .* pass y.T"),
    (lambda: phinmf.to_frames([], 16), r"y has shape \(0,\), but \(n,\) or .* n ≥ 1 is needed"),
    (lambda: phinmf.to_frames([1, np.nan], 16), "y has 1 NaN or infinite values: remove"),
    (lambda: phinmf.unmix("a.wav", 8000), "y names the file 'a.wav', .* soundfile.read"),
    (lambda: phinmf.unmix(STEREO, 8000), r"500 channels, but \(n, channels\) is .* pass y.T"),
    (lambda: phinmf.unmix(SOUND, "8000"), "sample_rate is '8000', but a whole number"),
    (lambda: phinmf.unmix(SOUND, 0), "sample_rate is 0, but a whole number from 1"),
    (lambda: phinmf.unmix(SOUND[:0], 8000), r"y has shape \(0,\), but \(n,\) or"),
    (lambda: atom_frequencies(Y.T, "8000"), "sample_rate is '8000', but a finite"),
]


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_a_mistake_gets_advice_in_one_sentence(call, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        call()
    assert one_sentence(str(caught.value))


def test_integers_lists_and_tables_are_accepted():
    whole = np.round(3000 * SOUND).astype(np.int16)
    frames = phinmf.to_frames(whole, 16)
    assert np.array_equal(frames, phinmf.to_frames(whole.astype(float), 16))
    known = phinmf.tl_nmf(Y, 2, **SHORT)
    assert phinmf.tl_nmf(Y.tolist(), 2, **SHORT).objective == known.objective
    table = pytest.importorskip("pandas").DataFrame(Y)
    assert phinmf.tl_nmf(table, 2, **SHORT).objective == known.objective


def test_pieces_of_many_channels_may_be_short():
    pieces = [RNG.standard_normal((10, 100)) for _ in range(4)]
    assert sum(Y.shape[2] for Y in phinmf.stream_frames(pieces, 8)) == 11
