"""The spectrogram that is looked at: where a tone is, and how much of a long sound is read."""

import numpy as np
import pytest

from phinmf.unmixing.spectrogram import COLUMNS, RANGE, ROWS, lowest, spectrogram

RATE = 8000


def row_of(hertz, rate=RATE):
    low = lowest(rate)
    return int(ROWS * np.log(hertz / low) / np.log(rate / 2 / low))


def blocks(y, n=1000):
    return (y[i : i + n] for i in range(0, len(y), n))


@pytest.mark.parametrize("hertz", [55.0, 440.0, 3000.0])
def test_a_tone_is_in_its_row_at_its_moment(hertz):
    t = np.arange(4 * RATE) / RATE
    y = np.where((t >= 1) & (t < 2), 0.5 * np.sin(2 * np.pi * hertz * t), 0)[:, None]
    levels = spectrogram(blocks(y), len(y), RATE)
    quarters = np.array_split(levels, 4)
    assert levels[:, row_of(hertz)].max() == pytest.approx(255 * (1 - 6.02 / RANGE), abs=5)
    assert abs(int(quarters[1].mean(axis=0).argmax()) - row_of(hertz)) <= 6
    assert quarters[3].max() == 0  # silence


def test_blocks_and_channels_change_nothing():
    y = np.random.default_rng(0).standard_normal((30_000, 2)) / 10
    levels = spectrogram(blocks(y), len(y), RATE)
    assert np.array_equal(levels, spectrogram(blocks(y, 17), len(y), RATE))
    assert np.array_equal(levels, spectrogram(blocks(y[:, ::-1]), len(y), RATE))
    assert levels.shape[0] <= COLUMNS


def test_a_click_is_seen_however_long_the_recording_is():
    n = 60 * RATE * 10

    def click():
        for start in range(0, n, 65_536):
            block = np.zeros((min(65_536, n - start), 1))
            if start == 65_536 * 20:
                block[100] = 1
            yield block

    levels = spectrogram(click(), n, RATE)
    assert len(levels) <= COLUMNS
    assert 1 <= levels.any(axis=1).sum() <= 3
    assert levels.any(axis=1).argmax() == pytest.approx(
        (65_536 * 20 + 100) / n * len(levels), abs=2
    )


@pytest.mark.parametrize("n", [1, 15, 4000])
@pytest.mark.parametrize("rate", [100, 8000, 384_000])
def test_short_sounds_and_all_rates(n, rate):
    levels = spectrogram(iter([np.ones((n, 1))]), n, rate)
    assert levels.shape[0] >= 1
    assert levels.shape[1] == ROWS
