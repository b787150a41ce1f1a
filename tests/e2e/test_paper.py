"""What `make paper` runs, on its smallest budget, in a copy of its folder."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
FILES = {
    "fig1.png", "fig3a.png", "fig1.csv", "printed_update.csv", "fig3a.csv", "ica.csv", "fig2.png",
    "fig3b.png", "atoms.png", "two_notes.png", "fig2.csv", "fig3b.csv",
    "atoms.csv", "timing.csv", "two_notes.csv", "few_atoms.csv", "few_atoms.png",
}  # fmt: skip


@pytest.fixture
def project(tmp_path):
    shutil.copytree(ROOT / "paper", tmp_path / "paper")
    (tmp_path / "benchmarks").mkdir()
    shutil.copy(ROOT / "benchmarks" / "_common.py", tmp_path / "benchmarks")
    return tmp_path


def reproduce(project, data, *more):
    """Run the experiments; return what they print for each, by its name."""
    environment = {name: x for name, x in os.environ.items() if name != "PHINMF_DATA"}
    done = subprocess.run(
        [sys.executable, project / "paper" / "reproduce.py", "--budget", "tiny", *more],
        env=environment | ({"PHINMF_DATA": str(data)} if data else {}), capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Warning" not in done.stderr
    return dict(part.split("\n", 1) for part in done.stdout.split("\n## "))


def check_files(output):
    assert {path.name for path in output.iterdir()} == FILES
    for path in output.glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size > 10_000


def test_the_pages_show_what_is_measured():
    for page, least in (("gallery.md", 5), ("paper/paper.md", 15)):
        text = (ROOT / "docs" / page).read_text()
        shown = set(re.findall(r"\]\((?:paper/)?(\w+\.(?:png|csv))\)", text))
        assert len(shown) >= least
        assert shown <= FILES


def test_every_experiment_prints_its_claims(project, data_folder):
    parts = reproduce(project, data_folder)
    check_files(project / "out" / "paper")
    experiments = [name for name in parts if "| the paper |" in parts[name]]
    assert len(experiments) == len(parts) - 1 == 10  # the first part is above the experiments
    assert not any("substitute" in text or "nan" in text for text in parts.values())
    again = reproduce(project, data_folder, "--only", "few-atoms")
    assert list(again)[1:] == ["few-atoms"]


def test_without_the_recordings_every_experiment_measures_a_substitute(project):
    parts = reproduce(project, None)
    check_files(project / "out" / "paper")
    assert sum("substitute: " in text for text in parts.values()) == 8
    assert not (project / "docs").exists()
