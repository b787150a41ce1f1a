import math
from typing import NamedTuple

import numpy as np
import pytest

from phinmf.linalg.line_search import Origin, backtracking, strong_wolfe
from phinmf.solvers.base import FARTHEST, curve, within_reach


class Point(NamedTuple):
    eta: float
    loss: float
    slope: float


def along(f, df):
    counted = []

    def trial(eta):
        counted.append(eta)
        return Point(eta, f(eta), df(eta))

    return trial, Origin(f(0.0), df(0.0)), counted


CURVES = {
    "parabola": (lambda x: (x - 3) ** 2, lambda x: 2 * (x - 3)),
    "flat": (lambda x: (x - 3) ** 2 * 1e-6, lambda x: 2e-6 * (x - 3)),
    "far": (lambda x: (x - 300) ** 2, lambda x: 2 * (x - 300)),
    "near": (lambda x: (x - 1e-5) ** 2 * 1e10, lambda x: 2e10 * (x - 1e-5)),
    "log wall": (
        lambda x: -math.log(2 - x) - x * 2 + x * x if x < 2 else math.inf,
        lambda x: 1 / (2 - x) - 2 + 2 * x if x < 2 else math.nan,
    ),
}


@pytest.mark.parametrize("name", sorted(CURVES))
@pytest.mark.parametrize("eta", [1e-4, 1.0, 50.0])
def test_strong_wolfe_conditions_hold(name, eta):
    trial, start, counted = along(*CURVES[name])
    point = strong_wolfe(trial, start, eta, c2=0.1)
    assert point is not None
    assert point.loss <= start.loss + 1e-4 * point.eta * start.slope
    assert abs(point.slope) <= 0.1 * abs(start.slope)
    assert len(counted) <= 20


def test_a_good_first_trial_costs_one_evaluation():
    trial, start, counted = along(lambda x: (x - 1) ** 2, lambda x: 2 * (x - 1))
    assert strong_wolfe(trial, start).eta == 1
    assert strong_wolfe(trial, start, 0.2).eta == 0.2  # its slope has fallen by a fifth
    assert len(counted) == 2


@pytest.mark.parametrize("eta", [1.5, 1.7, 2.5])  # beyond the minimum, and too far
def test_the_minimum_of_a_cubic_takes_two_trials(eta):
    trial, start, counted = along(lambda x: x**3 - 3 * x, lambda x: 3 * x**2 - 3)
    point = strong_wolfe(trial, start, eta, c2=0.1)
    assert point.slope == pytest.approx(0, abs=1e-9)
    assert counted == [eta, pytest.approx(1, rel=1e-9)]


@pytest.mark.parametrize("slope", [0.0, 1e-9, 0.5, 1.0, math.nan])
def test_no_descent_no_step(slope):
    trial, start, counted = along(lambda x: slope * x, lambda x: slope)
    assert strong_wolfe(trial, start) is None
    assert backtracking(trial, start, 1.0) is None
    assert not counted


@pytest.mark.parametrize(("f", "df"), [(lambda x: x, lambda x: 1.0), (lambda x: math.nan,) * 2])
def test_a_wrong_slope_or_nan_is_a_failure_not_an_exception(f, df):
    trial, _, counted = along(f, df)
    assert strong_wolfe(trial, Origin(0.0, -1.0)) is None
    assert backtracking(trial, Origin(0.0, -1.0), 1.0) is None
    assert len(counted) <= 60


def test_when_trials_run_out_the_lowest_point_is_returned():
    trial, start, counted = along(lambda x: -x, lambda x: -1.0)  # falls forever
    point = strong_wolfe(trial, start, max_trials=5)
    assert point.eta == max(counted)
    assert len(counted) == 5


def test_backtracking_halves_until_it_falls_enough():
    trial, start, counted = along(lambda x: (x - 0.1) ** 2, lambda x: 2 * (x - 0.1))
    point = backtracking(trial, start, 1.0)
    assert point.eta == 0.125
    assert counted == [1, 0.5, 0.25, 0.125]


def test_no_trial_goes_too_far():
    """Where the curvature is nearly 0 a direction can be 1e20 radians long."""
    E = np.array([[0, 1e20], [-1e20, 0]])
    near = within_reach(E)
    assert np.array_equal(near, -near.T)
    assert np.abs(near).max() == FARTHEST
    assert curve(None, near, None)(2.0).loss == np.inf
