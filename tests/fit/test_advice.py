"""What is probably a mistake gets advice: one sentence that says what to pass instead."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from pandas import DataFrame
from scipy.sparse import csr_matrix
from sounds import KINDS

import phinmf
from phinmf.analysis import atom_frequencies
from phinmf.fit.advice import overlap_by_half

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


DECIBELS = 10 * np.log10(POWER / POWER.max())
SPECTROGRAMS = [(POWER, "negative"), (DECIBELS, "positive"), (DECIBELS - 20, "positive")]


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize(("spectrogram", "sign"), SPECTROGRAMS)
def test_a_spectrogram_is_told_apart_from_frames(spectrogram, sign, name):
    (text,) = said(lambda: FITS[name](spectrogram))
    assert f"no sample of the frames is {sign}" in text
    assert ("in decibels" in text) == (sign == "positive")
    assert "phinmf.to_frames" in text
    assert said(lambda: phinmf.tl_nmf(spectrogram, 1, solver=None, **SHORT)) == []
    assert said(lambda: FITS[name](Y)) == []


@pytest.mark.parametrize("offset", [-100.0, -6.0, 6.0, 100.0])
def test_a_sound_with_an_offset_is_not_taken_for_a_spectrogram(offset):
    assert said(lambda: phinmf.tl_nmf(phinmf.to_frames(SOUND + offset, 16), 1, **SHORT)) == []
    if offset == -100:  # frames without a window
        assert said(lambda: phinmf.tl_nmf((SOUND + offset).reshape(-1, 16).T, 1, **SHORT)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_odd_sounds_are_not_taken_for_spectrograms(kind, rng):
    frames = KINDS[kind](16, 200, rng)
    frames[:, 5] *= 100
    assert said(lambda: phinmf.tl_nmf(frames, 1, **SHORT)) == []


def recording(n, channels=0):
    """Decaying notes of several pitches with pauses between them, and a little noise."""
    rng, t = np.random.default_rng(1), np.arange(n)
    y = 1e-4 * rng.standard_normal((n, channels) if channels else n)
    for start in range(0, n, 3000):
        note = np.sin(rng.uniform(0.02, 0.5) * t[: n - start]) * np.exp(-t[: n - start] / 400)
        y[start:] += note[:, None] if channels else note
    return y


def turned(Y):
    return Y.swapaxes(-1, -2)


@pytest.mark.parametrize("M", [8, 64, 440, 1024])
@pytest.mark.parametrize("n", [5000, 60000])
@pytest.mark.parametrize("channels", [0, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_transposed_frames_are_recognised_by_their_overlaps(M, n, channels, dtype):
    Y = phinmf.to_frames(recording(n, channels).astype(dtype), M).reshape(channels or 1, M, -1)
    assert overlap_by_half(Y)
    assert not overlap_by_half(turned(Y))
    assert overlap_by_half(Y[:, :, 3:-2])
    without_gaps = Y[:, :, ::2]
    assert not overlap_by_half(without_gaps)
    assert not overlap_by_half(turned(without_gaps))


@pytest.mark.parametrize("name", ["tl_nmf", "TLNMF"])
@pytest.mark.parametrize(("n", "M"), [(10_000, 32), (3000, 128), (1300, 200)])
def test_transposed_frames_are_refused_before_anything_is_computed(name, n, M, monkeypatch):
    frames = phinmf.to_frames(recording(n), M)
    assert said(lambda: FITS[name](frames)) == []
    monkeypatch.setattr(phinmf.fit.problem.Problem, "fit", None)
    with pytest.raises(ValueError, match="pass the transpose, or sample_weight=1") as caught:
        FITS[name](frames.T)
    assert f"{M} frames of {frames.shape[1]} samples" in str(caught.value)
    assert one_sentence(str(caught.value))


def test_transposed_frames_that_are_meant_so_are_fitted():
    turned = phinmf.to_frames(recording(1300), 200).T
    r = phinmf.tl_nmf(turned, 1, sample_weight=1, **SHORT)
    model = phinmf.TLNMF(1, **SHORT).fit(turned.T, sample_weight=1)
    assert np.array_equal(model.transform_matrix_, r.Phi)
    assert said(lambda: phinmf.TLNMF(1, **SHORT).partial_fit(turned.T, sample_weight=1)) == []
    with pytest.raises(ValueError, match="sample_weight=1"):
        phinmf.TLNMF(1, **SHORT).partial_fit(turned.T)


def waves(M, N, rng):
    """Slow oscillations with drift, as an electroencephalogram has them."""
    return np.cumsum(rng.standard_normal(M * N)).reshape(N, M).T


def swell(M, N, rng):
    """Noise that rises and falls once, as the window does."""
    return rng.standard_normal((M, N)) * np.sin(np.pi * (np.arange(N) + 0.5) / N)


def slow_tone(M, N, rng):
    """Half a period of a sine, in frames without a window."""
    return np.sin(np.pi * np.arange(M * N) / (M * N)).reshape(N, M).T


def half_overlap(M, N, rng):
    """Frames that overlap by half and have no window."""
    y = rng.standard_normal((N + 1) * M // 2)
    return np.stack([y[n * M // 2 :][:M] for n in range(N)], axis=1)


@pytest.mark.parametrize("kind", [*KINDS.values(), waves, swell, slow_tone, half_overlap])
@pytest.mark.parametrize(("M", "N"), [(440, 40), (40, 440), (512, 16), (16, 4), (1, 50), (50, 1)])
def test_other_frames_are_not_taken_for_transposed_ones(kind, M, N, rng):
    frames = kind(M, N, rng)[None]
    assert not overlap_by_half(frames)
    assert not overlap_by_half(turned(frames))


def test_the_first_frames_of_partial_fit_get_advice_once():
    def learn(Y):
        model = phinmf.TLNMF(2, **SHORT)
        for _ in range(2):
            model.partial_fit(Y.T)

    (text,) = said(lambda: learn(POWER))
    assert "no sample of the frames is negative, as if they were a spectrogram" in text
    assert said(lambda: learn(Y)) == []


STEREO = RNG.standard_normal((2, 500))


def masked(array):
    """The array, with three values masked."""
    return np.ma.masked_array(array, np.arange(array.size).reshape(array.shape) < 3)


MISTAKES = [
    (lambda: phinmf.tl_nmf("a.wav", 2), "Y names the file .a.wav., but frames .*frames_from_files"),
    (lambda: phinmf.tl_nmf(["a.wav", "b.wav"], 2), "Y names the file 'a.wav', .*frames_from_files"),
    (lambda: phinmf.tl_nmf(Path("a.wav"), 2), "Y names the file 'a.wav', .*frames_from_files"),
    (lambda: phinmf.TLNMF(2).fit(np.fft.rfft(Y, axis=0)), "X is complex, as an STFT is.*to_frames"),
    (lambda: phinmf.tl_nmf(Y, "12"), "n_components is '12', but a whole number is needed"),
    (lambda: phinmf.tl_nmf(Y, 3.0), "n_components is 3.0, but a whole number"),
    (lambda: phinmf.TLNMF(3.0).fit(Y.T), "n_components is 3.0, but a whole number"),
    (lambda: phinmf.unmix(SOUND, 8000, True), "n_components is True, but a whole number"),
    (lambda: phinmf.to_frames("a.wav", 16), "y names the file 'a.wav', .* soundfile.read"),
    (lambda: phinmf.to_frames(STEREO, 16), r"shape \(2, 500\), which is 2 samples .* pass y.T"),
    (lambda: phinmf.to_frames([], 16), r"y has shape \(0,\), but \(n,\) or .* n ≥ 1 is needed"),
    (lambda: phinmf.to_frames([1, np.nan], 16), "y has 1 NaN or infinite values: remove"),
    (lambda: phinmf.unmix("a.wav", 8000), "y names the file 'a.wav', .* soundfile.read"),
    (lambda: phinmf.unmix(STEREO, 8000), r"500 channels, but \(n, channels\) is .* pass y.T"),
    (lambda: phinmf.unmix(np.tile(POWER, 2), 8000), "128 channels, but the samples of a sound"),
    (lambda: phinmf.unmix(STEREO + 1j, 8000), "y is complex, as an STFT is, but the samples of"),
    (lambda: phinmf.to_frames(STEREO + 1j, 16), "y is complex, as an STFT is, but the samples of"),
    (lambda: phinmf.from_frames(Y + 1j, 2000), "Y is complex, as an STFT is, but frames"),
    (lambda: phinmf.unmix(SOUND, "8000"), "sample_rate is '8000', but a whole number"),
    (lambda: phinmf.unmix(SOUND, 0), "sample_rate is 0, but a whole number from 1"),
    (lambda: phinmf.unmix(SOUND[:0], 8000), r"y has shape \(0,\), but \(n,\) or"),
    (lambda: atom_frequencies(Y.T, "8000"), "sample_rate is '8000', but a finite"),
    (lambda: phinmf.to_frames((SOUND, 8000), 16), "y is a tuple of a sound and .*sample_rate = so"),
    (lambda: phinmf.to_frames((8000, SOUND), 16), "y is a tuple of a sound and its sampling rate"),
    (lambda: phinmf.unmix((SOUND, 8000), 8000), "y is a tuple of a sound and its sampling rate"),
    (lambda: phinmf.to_frames(SOUND, 16.5), "M is 16.5, but a whole number is needed"),
    (
        lambda: list(phinmf.stream_frames([STEREO], 16)),
        r"piece 1 .* 500 channels, .*pass piece\.T$",
    ),
    (lambda: phinmf.tl_nmf(csr_matrix(Y), 2), r"Y is sparse, but .*: pass Y\.toarray\(\)"),
    (lambda: phinmf.tl_nmf(masked(Y), 2), r"Y has 3 masked values.*Y\.filled\(0\), and a sa"),
    (lambda: phinmf.tl_nmf(DataFrame(Y + 0j), 2), "Y is complex, as an STFT is, but frames"),
    (lambda: phinmf.tl_nmf((SOUND, 8000), 2), "Y is a tuple of a sound and its sampling rate"),
    (
        lambda: phinmf.tl_nmf(
            1e114 * Y,
            2,
            W=np.full((16, 2), 1e160),
            H=np.full((2, Y.shape[1]), 1e168),
            fixed="Phi",
            method=phinmf.Method(anneal=False, n_iter_nmf=0),
            max_iter=1,
        ),
        "the activations reach .* leaves the range of float64: give W and H whose product is",
    ),
    (lambda: phinmf.TLNMF(2).fit((SOUND, 8000)), "X is a tuple of a sound and its sampling rate"),
    (lambda: phinmf.TLNMF(2).fit("a.wav"), "X names the file 'a.wav', but frames .*, transposed"),
    (lambda: phinmf.TLNMF(2).fit(masked(Y.T)), "X has 3 masked values"),
]


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_a_mistake_gets_advice_in_one_sentence(call, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        call()
    assert one_sentence(str(caught.value))


def test_integers_lists_tables_and_arrays_without_masked_values_are_accepted():
    whole = np.round(3000 * SOUND).astype(np.int16)
    frames = phinmf.to_frames(whole, 16)
    assert np.array_equal(frames, phinmf.to_frames(whole.astype(float), 16.0))
    expected = phinmf.tl_nmf(Y, 2, **SHORT).objective
    for same in (Y.tolist(), DataFrame(Y), np.ma.masked_array(Y)):
        assert phinmf.tl_nmf(same, 2, **SHORT).objective == expected


def test_pieces_of_many_channels_may_be_short():
    pieces = [RNG.standard_normal((10, 100)) for _ in range(4)]
    assert sum(Y.shape[2] for Y in phinmf.stream_frames(pieces, 8)) == 11
