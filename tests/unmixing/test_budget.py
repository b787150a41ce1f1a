"""A limit of time covers learning as a whole, whatever the window."""

import time

import numpy as np
import pytest

import phinmf
from phinmf.audio.sources import ArraySource
from phinmf.unmixing import budget
from phinmf.unmixing.fits import Fits
from phinmf.unmixing.forecast import Speed
from phinmf.unmixing.learn import learn
from phinmf.unmixing.options import UnmixOptions


def of_noise(n, channels, rate, **how):
    y = 0.1 * np.random.default_rng(0).standard_normal((n, channels))
    return learn(ArraySource(y, rate), UnmixOptions(seed=0, **how))


@pytest.mark.full
def test_a_long_window_ends_in_time():
    """96 kHz in stereo, where one step of the transform takes longer than the limit."""
    of_noise(2000, 1, 8000, n_components=2, window=64, max_time=0.1)  # compiled
    clock = time.perf_counter()
    learned = of_noise(3 * 96_000, 2, 96_000, n_components=8, max_time=1.0)
    assert time.perf_counter() - clock < 10  # without load 1.5 s; without a limit, a minute
    assert "max_time" in learned.stop_reason
    assert learned.M == 3840


def test_every_fit_has_its_share(monkeypatch):
    limits, took = [], []
    solved = Fits.solved

    def watched(self, problem):
        limits.append(problem.options.algorithm.max_time)
        clock = time.perf_counter()
        result = solved(self, problem)
        took.append(time.perf_counter() - clock)
        return result

    monkeypatch.setattr(Fits, "solved", watched)
    of_noise(20_000, 1, 8000, n_components=2, window=64, max_time=5.0)
    assert len(limits) == 3
    for i, limit in enumerate(limits):
        assert 0 < limit <= 5 - sum(took[:i])


def test_more_time_never_learns_from_fewer_frames(monkeypatch):
    """Not even at the time from which the transform is learned, and 0 seconds are the least."""
    numbers = []
    counted = Fits.of.__func__

    def watched(cls, Y, *rest):
        numbers.append(Y.shape[2])
        return counted(cls, Y, *rest)

    monkeypatch.setattr(Fits, "of", classmethod(watched))
    monkeypatch.setattr(Fits, "solved", lambda self, problem: stop())
    for seconds in (0, 0.05, *np.geomspace(0.1, 60, 20), None):
        monkeypatch.setattr(budget, "measured_speed", lambda _: Speed(2e10, 1.5e9))
        with pytest.raises(StopIteration):
            of_noise(600_000, 1, 8000, n_components=2, window=256, n_atoms=None, max_time=seconds)
    assert numbers == sorted(numbers)
    assert numbers[0] < numbers[-1]


def stop():
    raise StopIteration


@pytest.mark.parametrize("K", [1, 64])
def test_enough_frames_for_all_components(K):
    """However little time there is, there are as many frames as components."""
    y = 0.1 * np.random.default_rng(0).standard_normal(30_000)
    parts = phinmf.unmix(y, 8000, K, window=64, seed=0, max_time=0.05)
    assert len(parts.components) == K
