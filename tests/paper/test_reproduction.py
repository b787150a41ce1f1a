"""The small pieces behind `make paper`, on cases whose answer is known."""

import importlib
import shutil
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


EXPERIMENTS = {  #: name: title of its section
    "fig1": "Fig. 1: synthetic data",
    "timing": "Timing claims",
    "ica": "Relation (14): independent component analysis",
}


@pytest.fixture
def project(piece, tmp_path, monkeypatch):
    """A copy of the committed page, both recordings, and three experiments that take no time.

    The second raises the error that is put into `project.errors`, after it has written its files.
    """
    script, page, errors = piece("reproduce"), piece("page"), []

    def experiment(name):
        def run(setting):
            files = [setting.csv(name, [{"number": 1}]), setting.save(Figure(), name)]
            if name == "timing" and errors:
                raise errors.pop()
            return page.Section(EXPERIMENTS[name], f"New: {name}.", files=files)

        return SimpleNamespace(run=run)

    for name in EXPERIMENTS:
        monkeypatch.setitem(sys.modules, f"experiment_{name}", experiment(name))
    table = {name: (f"experiment_{name}", script.RECORDING) for name in EXPERIMENTS}
    monkeypatch.setattr(script, "EXPERIMENTS", table)
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setenv("PHINMF_DATA", str(tmp_path))
    for name in script.SOURCES:
        (tmp_path / name).touch()
    docs = tmp_path / "docs" / "paper"
    shutil.copytree(ROOT / "docs" / "paper", docs)
    return SimpleNamespace(run=script.main, errors=errors, docs=docs, out=tmp_path / "out")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def sections(folder):
    """The text of each section of the page, and what is above them, by the first line."""
    parts = (folder / "paper.md").read_text().split("\n## ")
    return {part.partition("\n")[0]: part for part in parts}


def changes(before, after):
    return {name for name in before | after if before.get(name) != after.get(name)}


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


def test_a_section_is_replaced_with_its_files_and_all_else_stays(project):
    files, texts = contents(project.docs), sections(project.docs)
    assert project.run(["--only", "timing"]) == 0
    assert changes(files, contents(project.docs)) == {"paper.md", "timing.csv", "timing.png"}
    after = sections(project.docs)
    assert changes(texts, after) == {EXPERIMENTS["timing"]}
    assert list(after) == list(texts)
    assert "New: timing." in after[EXPERIMENTS["timing"]]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("no fit")])
def test_an_experiment_that_does_not_end_changes_nothing(project, error):
    files, texts = contents(project.docs), sections(project.docs)
    project.errors.append(error)
    assert project.run([]) != 0
    new = {"fig1"} if isinstance(error, KeyboardInterrupt) else {"fig1", "ica"}
    assert changes(texts, sections(project.docs)) == {EXPERIMENTS[name] for name in new}
    names = {"paper.md", *(f"{name}.{end}" for name in new for end in ("csv", "png"))}
    assert changes(files, contents(project.docs)) == names


def test_ctrl_c_during_a_fit_is_not_taken_for_its_end(piece, rng):
    def interrupt(state):
        raise KeyboardInterrupt

    setting, Y = piece("setting"), rng.standard_normal((4, 20))
    with pytest.raises(KeyboardInterrupt):
        setting.quietly(phinmf.tl_nmf, Y, 2, engine="array", callback=interrupt)


@pytest.mark.parametrize("missing", ["armstrong.wav", "two_notes_sim1.mat"])
def test_without_a_recording_the_docs_stay(project, missing, capsys):
    files = contents(project.docs)
    (project.docs.parents[1] / missing).unlink()
    assert project.run([]) == 0
    assert contents(project.docs) == files
    page = (project.out / "paper" / "paper.md").read_text()
    assert page.count("**substitute") == (3 if missing == "armstrong.wav" else 0)
    assert missing in capsys.readouterr().out


def test_a_quick_run_leaves_the_docs(project):
    files = contents(project.docs)
    assert project.run(["--quick"]) == 0
    assert contents(project.docs) == files
    assert (project.out / "paper" / "paper.md").read_text().count("**quick run") == 3
