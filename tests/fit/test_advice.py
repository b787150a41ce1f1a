"""What is probably a mistake gets advice: one sentence that says what to pass instead."""

import warnings

import numpy as np
import pytest
from sounds import KINDS

import phinmf
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
    "partial_fit": lambda Y: phinmf.TLNMF(2, **SHORT).partial_fit(Y.T).partial_fit(Y.T),
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


ODD = {name: lambda rng, kind=kind: kind(16, 200, rng) for name, kind in KINDS.items()}
ODD |= {
    f"offset {offset}": lambda rng, offset=offset: phinmf.to_frames(SOUND + offset, 16)
    for offset in (-100.0, -6.0, 6.0, 100.0)
}
ODD["offset without a window"] = lambda rng: (SOUND - 100).reshape(-1, 16).T


@pytest.mark.parametrize("frames", ODD.values(), ids=ODD)
def test_odd_sounds_are_not_taken_for_spectrograms(frames, rng):
    assert said(lambda: phinmf.tl_nmf(frames(rng), 1, **SHORT)) == []


def recording(n, channels=0):
    """Decaying notes of several pitches with pauses between them, and a little noise."""
    rng, t = np.random.default_rng(1), np.arange(n)
    y = 1e-4 * rng.standard_normal((n, channels) if channels else n)
    for start in range(0, n, 3000):
        note = np.sin(rng.uniform(0.02, 0.5) * t[: n - start]) * np.exp(-t[: n - start] / 400)
        y[start:] += note[:, None] if channels else note
    return y


@pytest.mark.parametrize(
    ("name", "n", "M", "channels", "dtype"),
    [
        ("tl_nmf", 10_000, 32, 0, np.float64),
        ("tl_nmf", 60_000, 1024, 2, np.float32),
        ("TLNMF", 3000, 128, 0, np.float32),
        ("TLNMF", 1300, 200, 0, np.float64),
    ],
)
def test_transposed_frames_are_refused_before_anything_is_computed(
    name, n, M, channels, dtype, monkeypatch
):
    frames = phinmf.to_frames(recording(n, channels).astype(dtype), M)
    assert not overlap_by_half(frames.reshape(-1, *frames.shape[-2:]).swapaxes(1, 2))
    monkeypatch.setattr(phinmf.fit.problem.Problem, "fit", None)
    with pytest.raises(ValueError, match="pass the transpose, or sample_weight=1") as caught:
        FITS[name](frames.swapaxes(-1, -2))
    assert f"{M} frames of {frames.shape[-1]} samples" in str(caught.value)
    assert one_sentence(str(caught.value))


def test_transposed_frames_that_are_meant_so_are_fitted():
    turned = phinmf.to_frames(recording(1300), 200).T
    r = phinmf.tl_nmf(turned, 1, sample_weight=1, **SHORT)
    model = phinmf.TLNMF(1, **SHORT).fit(turned.T, sample_weight=1)
    assert np.array_equal(model.transform_matrix_, r.Phi)
    assert said(lambda: phinmf.TLNMF(1, **SHORT).partial_fit(turned.T, sample_weight=1)) == []
    with pytest.raises(ValueError, match="sample_weight=1"):
        phinmf.TLNMF(1, **SHORT).partial_fit(turned.T)


def half_overlap(M, N, rng):
    """Frames that overlap by half and have no window."""
    y = rng.standard_normal((N + 1) * M // 2)
    return np.stack([y[n * M // 2 :][:M] for n in range(N)], axis=1)


@pytest.mark.parametrize("kind", [*KINDS.values(), half_overlap])
def test_other_frames_are_not_taken_for_transposed_ones(kind, rng):
    for M, N in ((440, 40), (512, 16), (16, 4), (1, 50), (50, 1)):
        frames = kind(M, N, rng)[None]
        assert not overlap_by_half(frames)
        assert not overlap_by_half(frames.swapaxes(1, 2))
