"""`make paper` on its smallest budget, in a copy of its folder, and what it must not do."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def piece(monkeypatch):
    """Import one of the scripts by name."""
    monkeypatch.syspath_prepend(ROOT / "paper")
    return importlib.import_module


def test_the_corrected_direction_always_descends_and_the_printed_one_does_not(piece):
    printed, corrected = piece("printed_update").small_cases(200, 3)
    assert corrected == 0
    assert 0.05 < printed < 0.4


def check_claims(tmp_path, data):
    """Run all experiments in a copy of the folder, with the recordings of a folder or with none."""
    shutil.copytree(ROOT / "paper", tmp_path / "paper")
    (tmp_path / "benchmarks").mkdir()
    shutil.copy(ROOT / "benchmarks" / "_common.py", tmp_path / "benchmarks")
    environment = {name: text for name, text in os.environ.items() if name != "PHINMF_DATA"}
    environment |= {"PHINMF_DATA": str(data)} if data else {}
    done = subprocess.run(
        [sys.executable, tmp_path / "paper" / "reproduce.py", "--budget", "tiny"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Warning" not in done.stderr
    _, *experiments = done.stdout.split("\n## ")
    assert all("| the paper |" in text and "nan" not in text for text in experiments)
    assert any("substitute: " in text for text in experiments) == (data is None)
    pictures = list((tmp_path / "out" / "paper").glob("*.png"))
    assert pictures
    assert all(path.stat().st_size > 10_000 for path in pictures)
    assert not (tmp_path / "docs").exists()


@pytest.mark.full
def test_every_experiment_prints_its_claims(tmp_path, data_folder):
    check_claims(tmp_path, data_folder)


@pytest.mark.full
def test_without_the_recordings_substitutes_are_measured(tmp_path):
    check_claims(tmp_path, None)
