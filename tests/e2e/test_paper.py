"""What `make paper` runs, on its smallest budget."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
ALWAYS = {"fig1.png", "fig3a.png", "fig1.csv", "printed_update.csv", "fig3a.csv", "ica.csv"}
WITH_DATA = {
    "fig2.png", "fig3b.png", "atoms.png", "two_notes.png", "fig2.csv", "fig3b.csv", "atoms.csv",
    "timing.csv", "two_notes.csv", "note_starts.csv", "few_atoms.csv", "few_atoms.png",
}  # fmt: skip
SECTIONS = [
    "Fig. 1", "Fig. 2", "The boxed update", "Fig. 3a", "Fig. 3b", "The learned atoms",
    "Timing claims", "Few atoms", "Relation (14)", "Two notes (", "Two notes: ",
]  # fmt: skip


def reproduce(output, *more, **environment):
    script = [sys.executable, ROOT / "paper" / "reproduce.py"]
    done = subprocess.run(
        [*script, "--budget", "tiny", "--output", output, *more],
        env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Warning" not in done.stderr
    return (output / "paper.md").read_text(), done.stdout


def check_page(page, output, expected):
    headings = re.findall(r"^## (.*)$", page, re.M)
    assert len(headings) == len(SECTIONS)
    for heading, section in zip(headings, SECTIONS, strict=True):
        assert heading.startswith(section)
    written = {path.name for path in output.iterdir()}
    assert expected <= written
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
    assert {*pictures} <= ALWAYS | WITH_DATA


def test_every_part_appears(tmp_path, data_folder):
    page, _ = reproduce(tmp_path, PHINMF_DATA=str(data_folder))
    check_page(page, tmp_path, ALWAYS | WITH_DATA)
    assert "Not run" not in page
    again, printed = reproduce(tmp_path, "--only", "few-atoms", PHINMF_DATA=str(data_folder))
    check_page(again, tmp_path, ALWAYS | WITH_DATA)
    assert "fig1" not in printed
    assert again.count("Run again alone") == 1
    before, after = (re.split(r"^## ", text, flags=re.M) for text in (page, again))
    changed = [i for i, pair in enumerate(zip(before, after, strict=True)) if len({*pair}) > 1]
    assert [after[i].split("\n")[0] for i in changed] == ["Few atoms: the paper's outlook"]


def test_without_the_data_it_says_so_and_runs_the_rest(tmp_path):
    page, printed = reproduce(tmp_path, PHINMF_DATA=str(tmp_path / "nowhere"))
    assert "data are not here" in printed
    check_page(page, tmp_path, ALWAYS)
    assert page.count("Not run:") == 7
    assert not WITH_DATA & {path.name for path in tmp_path.iterdir()}
