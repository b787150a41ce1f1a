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
    "fig3b.png", "atoms.png", "two_notes.png", "fig2.csv", "fig2_curves.csv", "fig3b.csv",
    "atoms.csv", "timing.csv", "two_notes.csv", "note_starts.csv", "few_atoms.csv", "few_atoms.png",
}  # fmt: skip
SECTIONS = [
    "Fig. 1", "Fig. 2", "The boxed update", "Fig. 3a", "Fig. 3b", "The learned atoms",
    "Timing claims", "Few atoms", "Relation (14)", "Two notes (", "Two notes: ",
]  # fmt: skip


@pytest.fixture
def project(tmp_path):
    shutil.copytree(ROOT / "paper", tmp_path / "paper")
    (tmp_path / "benchmarks").mkdir()
    shutil.copy(ROOT / "benchmarks" / "_common.py", tmp_path / "benchmarks")
    return tmp_path


def reproduce(project, data, *more):
    environment = {name: x for name, x in os.environ.items() if name != "PHINMF_DATA"}
    done = subprocess.run(
        [sys.executable, project / "paper" / "reproduce.py", "--budget", "tiny", *more],
        env=environment | ({"PHINMF_DATA": str(data)} if data else {}), capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Warning" not in done.stderr
    return (project / "out" / "paper" / "paper.md").read_text(), done.stdout


def check_page(page, output):
    headings = re.findall(r"^## (.*)$", page, re.M)
    assert len(headings) == len(SECTIONS)
    for heading, section in zip(headings, SECTIONS, strict=True):
        assert heading.startswith(section)
    assert {path.name for path in output.iterdir()} == {*FILES, "paper.md"}
    for target in re.findall(r"\]\(([^):]+\.(?:png|csv))\)", page):
        assert (output / target).exists(), target
    for path in output.glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size > 10_000
    for cell in re.findall(r"\*\*(.*?)\*\* \|$", page, re.M):
        assert cell, "a claim without a verdict"
    assert "nan" not in page


def test_the_gallery_shows_pictures_that_are_drawn():
    pictures = re.findall(r"\]\(paper/([^)]+\.png)\)", (ROOT / "docs" / "gallery.md").read_text())
    assert len(pictures) >= 5
    assert {*pictures} <= FILES


def test_every_part_appears(project, data_folder):
    page, _ = reproduce(project, data_folder)
    check_page(page, project / "out" / "paper")
    assert "**substitute" not in page
    again, printed = reproduce(project, data_folder, "--only", "few-atoms")
    check_page(again, project / "out" / "paper")
    assert "fig1" not in printed
    before, after = (re.split(r"^## ", text, flags=re.M) for text in (page, again))
    changed = [i for i, pair in enumerate(zip(before, after, strict=True)) if len({*pair}) > 1]
    assert [after[i].split("\n")[0] for i in changed] == ["Few atoms: the paper's outlook"]


def test_without_the_recordings_every_part_measures_a_substitute(project):
    page, printed = reproduce(project, None)
    assert "pierreablin/tlnmf" in printed
    check_page(page, project / "out" / "paper")
    assert page.count("**substitute") == 9
    assert not (project / "docs").exists()
