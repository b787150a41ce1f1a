"""A limit of time covers learning as a whole, whatever the window; and progress is printed."""

import time

import numpy as np
import pytest

import phinmf
from phinmf.audio import ArraySource
from phinmf.unmixing import learn as learning
from phinmf.unmixing.fits import Fits
from phinmf.unmixing.learn import Pace, learn
from phinmf.unmixing.options import UnmixOptions


def of_noise(n, channels, rate, **how):
    y = 0.1 * np.random.default_rng(0).standard_normal((n, channels))
    return learn(ArraySource(y, rate), UnmixOptions(seed=0, **how))


@pytest.mark.full
def test_a_long_window_ends_in_time():
    """96 kHz in stereo, where one step of the transform takes longer than the limit."""
    of_noise(2000, 1, 8000, n_components=2, window=64, solver="lbfgs", max_time=0.1)  # compiled
    clock = time.perf_counter()
    how = {"n_components": 8, "window": "40ms", "solver": "lbfgs"}
    learned = of_noise(3 * 96_000, 2, 96_000, max_time=1.0, **how)
    assert time.perf_counter() - clock < 10  # without load 1.5 s; without a limit, a minute
    assert "max_time" in learned.stop_reason
    assert learned.M == 3840


@pytest.fixture
def fits(monkeypatch):
    """The fits of learning that are made from now on: limit, seconds taken, frames, iterations."""
    solved, made = Fits.solved, []

    def watched(self, problem, number):
        clock = time.perf_counter()
        result = solved(self, problem, number)
        took = time.perf_counter() - clock
        limit = problem.options.max_time
        made.append((limit, took, problem.data.Y.shape[2], len(result.history)))
        return result

    monkeypatch.setattr(Fits, "solved", watched)
    return made


def test_every_fit_has_its_share(fits):
    how = {"window": 64, "solver": "lbfgs", "n_components": 2}
    of_noise(20_000, 1, 8000, **how)  # compiled
    fits.clear()
    of_noise(20_000, 1, 8000, max_time=5.0, **how)
    assert len(fits) == 4  # the first one measures the speed
    for i, (limit, *_) in enumerate(fits):
        assert 0 < limit <= 5 - sum(took for _, took, *_ in fits[:i])


def test_no_time_is_one_step_of_nmf_on_the_fewest_frames(fits):
    learned = of_noise(600_000, 1, 8000, n_components=2, window=256, max_time=0)
    assert "max_time" in learned.stop_reason
    assert np.array_equal(learned.Phi.shape, (256, 256))
    assert [(n, steps) for *_, n, steps in fits[1:]] == [(252, 1)]  # 4 stretches of 63 frames


@pytest.mark.parametrize("pace", [1e-5, 1e-9])
def test_more_time_never_learns_from_fewer_frames(monkeypatch, fits, pace):
    """Not even at the time from which the transform is learned."""
    at_a_pace = lambda fits, seconds: Pace(256, 1, 256, nmf_step=pace, operation=pace / 1e5)  # noqa: E731
    monkeypatch.setattr(learning, "measured", at_a_pace)
    monkeypatch.setattr(Fits, "nmf", lambda self, **how: stop(numbers.append(self.data.Y.shape[2])))
    numbers = []
    for seconds in (0, 0.05, *np.geomspace(0.1, 1000, 12), 1e308, None):
        with pytest.raises(StopIteration):
            of_noise(600_000, 1, 8000, n_components=2, window=256, n_atoms=None, max_time=seconds)
    assert numbers == sorted(numbers)
    assert numbers[0] < numbers[-2] == numbers[-1]


def stop(_):
    raise StopIteration


@pytest.mark.parametrize("K", [1, 32])
def test_enough_frames_for_all_components(K):
    """However little time there is, there are as many frames as components."""
    y = 0.1 * np.random.default_rng(0).standard_normal(30_000)
    parts = phinmf.unmix(y, 8000, K, window=64, seed=0, max_time=0.05)
    assert len(parts.components) == K
