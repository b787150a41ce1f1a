"""The small pieces behind `make paper`, on cases whose answer is known."""

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

import phinmf

ROOT = Path(__file__).parents[2]


@pytest.fixture
def piece(monkeypatch):
    """Import one of the scripts by name."""
    monkeypatch.syspath_prepend(ROOT / "paper")
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


def test_ctrl_c_during_a_fit_is_not_taken_for_its_end(piece, rng):
    def interrupt(state):
        raise KeyboardInterrupt

    setting, Y = piece("setting"), rng.standard_normal((4, 20))
    with pytest.raises(KeyboardInterrupt):
        setting.quietly(phinmf.tl_nmf, Y, 2, engine="array", callback=interrupt)


@pytest.fixture
def reproduce(piece, tmp_path, monkeypatch):
    """Run one experiment that takes no time, in an empty project with both recordings."""
    script = piece("reproduce")

    def run(setting):
        setting.csv("fig2", [{"number": 1}])
        setting.save(Figure(), "fig2")

    monkeypatch.setitem(sys.modules, "experiment", SimpleNamespace(run=run))
    monkeypatch.setattr(script, "EXPERIMENTS", {"fig2": ("experiment", script.RECORDING)})
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setenv("PHINMF_DATA", str(tmp_path))
    for name in script.SOURCES:
        (tmp_path / name).touch()
    return script.main


@pytest.mark.parametrize("missing", ["armstrong.wav", "two_notes_sim1.mat"])
def test_without_a_recording_the_docs_stay(reproduce, missing, tmp_path, capsys):
    (tmp_path / missing).unlink()
    reproduce([])
    assert not (tmp_path / "docs").exists()
    marked = "substitute" in (tmp_path / "out" / "paper" / "fig2.csv").read_text()
    assert marked == (missing == "armstrong.wav")
    assert missing in capsys.readouterr().out


@pytest.mark.parametrize(("options", "folder"), [([], "docs"), (["--quick"], "out")])
def test_only_a_full_run_writes_the_docs(reproduce, options, folder, tmp_path):
    reproduce(options)
    files = {path.name for path in (tmp_path / folder / "paper").iterdir()}
    assert files == {"fig2.csv", "fig2.png"}
    assert (tmp_path / "docs").exists() == (folder == "docs")
