"""The notebooks are those of the examples, hold no outputs, and run."""

import runpy
from pathlib import Path

import pytest

pytest.importorskip("ipykernel")
nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

pytestmark = pytest.mark.full

FOLDER = Path(__file__).parents[2] / "examples/notebooks"
MAKE = runpy.run_path(str(FOLDER / "make.py"))


def test_no_notebook_is_missing():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(MAKE["NAMES"])


@pytest.mark.parametrize("name", MAKE["NAMES"])
def test_notebooks_are_in_step_with_the_examples(name):
    text = (FOLDER / f"{name}.ipynb").read_text("utf-8")
    assert text == MAKE["notebook"](name), "run python examples/notebooks/make.py"
    book = nbformat.reads(text, as_version=4)
    nbformat.validate(book)
    assert not any(cell.get("outputs") for cell in book.cells)


@pytest.mark.filterwarnings("ignore:Proactor event loop:RuntimeWarning")  # of zmq, on Windows
def test_notebooks_run(tmp_path):
    books = [nbformat.reads(MAKE["notebook"](name), as_version=4) for name in MAKE["NAMES"]]
    together = nbformat.v4.new_notebook(cells=[])
    for book in books:  # one after the other in one kernel, which forgets in between: it is quicker
        together.cells += [*book.cells, nbformat.v4.new_code_cell("%reset -f")]
    nbclient.execute(together, cwd=str(tmp_path), timeout=300)
    for book in books:
        outputs = [output for cell in book.cells for output in cell.get("outputs", [])]
        assert any(output.output_type == "stream" for output in outputs)
        assert any("image/png" in output.get("data", {}) for output in outputs)
    assert not list(tmp_path.iterdir())
