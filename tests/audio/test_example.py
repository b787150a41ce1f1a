import numpy as np

from phinmf.audio.example import SAMPLE_RATE, example, pluck, strike


def test_stems_add_up_to_ten_seconds():
    sound = example()
    assert len(sound.mixture) == 10 * sound.sample_rate
    assert len(sound.stems) >= 3
    assert np.array_equal(sound.mixture, np.sum(list(sound.stems.values()), axis=0))
    assert 0.5 < np.abs(sound.mixture).max() < 1
    assert all(np.sqrt((stem**2).mean()) > 0.01 for stem in sound.stems.values())
    assert np.array_equal(sound.mixture, example().mixture)


def test_notes_are_in_tune(rng):
    for note in (pluck(220.0, 1.0, rng), strike(220.0, 1.0)):
        spectrum = np.abs(np.fft.rfft(note * np.hanning(len(note)), 8 * len(note)))
        near = slice(int(8 * 190 * len(note) / SAMPLE_RATE), int(8 * 250 * len(note) / SAMPLE_RATE))
        peak = (near.start + spectrum[near].argmax()) * SAMPLE_RATE / (8 * len(note))
        assert abs(1200 * np.log2(peak / 220)) < 5  # cents
