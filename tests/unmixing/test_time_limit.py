"""A limit of time covers learning as a whole, whatever the window."""

import time

import numpy as np
import pytest

from phinmf.audio import ArraySource
from phinmf.unmixing.fits import Fits
from phinmf.unmixing.learn import learn
from phinmf.unmixing.options import UnmixOptions


def of_noise(n, channels, rate, **how):
    y = 0.1 * np.random.default_rng(0).standard_normal((n, channels))
    return learn(ArraySource(y, rate), UnmixOptions(seed=0, **how))


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
    assert len(fits) == 3
    for i, (limit, *_) in enumerate(fits):
        assert 0 < limit <= 5 - sum(took for _, took, *_ in fits[:i])


@pytest.mark.parametrize("solver", [None, "lbfgs"])
def test_no_time_is_one_step_of_nmf_on_as_many_frames_as_ever(fits, solver):
    how = {"n_components": 2, "window": 64, "solver": solver}
    learned = of_noise(200_000, 1, 8000, max_time=0, **how)
    assert "max_time" in learned.stop_reason
    ((*_, frames, steps),) = fits
    assert steps == 1
    of_noise(200_000, 1, 8000, max_time=0.5, **how)
    assert fits[1][2] == frames
