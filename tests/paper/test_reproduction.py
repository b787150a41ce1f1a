"""The small pieces behind `make paper`, on cases whose answer is known."""

import importlib
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def piece(monkeypatch):
    """Import one of the scripts by name."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "paper")
    return importlib.import_module


def test_time_to_a_level(piece):
    curves = piece("curves")
    seconds, losses = np.array([0.0, 1.0, 2.0, 3.0]), np.array([9.0, 5.0, 2.0, 2.0])
    assert curves.time_to(seconds, losses, 5.0) == 1.0
    assert curves.time_to(seconds, losses, 4.0) == 2.0
    assert curves.time_to(seconds, losses, 1.0) == np.inf


def test_curves_keep_their_last_value_and_give_the_range(piece):
    curves = piece("curves")
    short = np.array([0.0, 1.0]), np.array([8.0, 4.0])
    long = np.array([0.0, 1.0, 10.0]), np.array([8.0, 6.0, 1.0])
    grid, low, middle, high = curves.loss_curves([short, long])
    assert (grid[0], grid[-1]) == (1.0, pytest.approx(10.0))
    assert (low[0], middle[0], high[0]) == (4, 5, 6)
    assert (low[-1], middle[-1], high[-1]) == (1, 2.5, 4)


def test_sdr_of_a_known_error_in_either_order(piece):
    sdr = piece("two_notes").sdr
    sources = np.eye(2, 100)
    estimates = 0.9 * sources  # an error of -20 dB
    assert sdr(estimates, sources) == pytest.approx(20)
    assert sdr(estimates[::-1], sources) == pytest.approx(20)


def test_the_corrected_direction_always_descends_and_the_printed_one_does_not(piece):
    printed, corrected = piece("printed_update").small_cases(200, 3)
    assert corrected == 0
    assert 0.05 < printed < 0.4


def test_a_table_escapes_bars_and_rounds(piece):
    table = piece("page").table([{"a": "|x|", "b": 0.123456}])
    assert table.splitlines()[-1] == "| \\|x\\| | 0.1235 |"


def test_every_method_from_a_start_of_the_two_notes_has_a_name_of_its_own(piece):
    names = [(method.name, method.start) for method in piece("note_starts").methods(20)]
    assert len(set(names)) == len(names) == 12
