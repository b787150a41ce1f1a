"""The Python and the commands of the README and of the documentation run as they stand."""

import re
import shlex
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import matplotlib.pyplot as plt
import numpy as np
import pytest
from clusters import needs_dask
from sound_files import write

from phinmf.cli.main import get_parser
from phinmf.divergences import DIVERGENCES
from phinmf.engines import ENGINES
from phinmf.inits import INITS
from phinmf.solvers import SOLVERS

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *sorted(ROOT.glob("docs/**/*.md"))]
TEXTS = {path: path.read_text() for path in PAGES}
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```", re.S | re.M)


def blocks(text, *kinds):
    return [code for kind, code in BLOCK.findall(text) if kind in kinds]


PYTHON = {path: code for path, text in TEXTS.items() if (code := blocks(text, "python"))}
del PYTHON[ROOT / "docs/index.md"]  # it has the code of the README; test_wheel.py runs it
CONSOLE = "".join(code for text in TEXTS.values() for code in blocks(text, "", "console"))
COMMANDS = sorted({line for line in CONSOLE.splitlines() if line.startswith("phinmf ")})


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("page", PYTHON, ids=lambda path: path.stem)
def test_code_of_pages(page, tmp_path, monkeypatch):
    """As a reader types it, one block after the other."""
    if any("frames_from_files" in block for block in PYTHON[page]):
        needs_dask()
    if any("torch" in block for block in PYTHON[page]):
        pytest.importorskip("torch")
    write(tmp_path / "recording.wav", 0.1 * np.random.default_rng(0).standard_normal(8000))
    monkeypatch.chdir(tmp_path)
    with ExitStack() as cleanup:  # figures, and what a page adds to the registries
        cleanup.callback(plt.close, "all")
        for registry in (DIVERGENCES, ENGINES, INITS, SOLVERS):
            cleanup.enter_context(patch.dict(registry))
        names: dict = {}
        for block in PYTHON[page]:
            exec(compile(block, page, "exec"), names)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_pages_can_be_parsed(command):
    with patch("sys.exit", side_effect=AssertionError):
        assert get_parser().parse_args(shlex.split(command, comments=True)[1:]).command


@pytest.mark.parametrize("page", TEXTS, ids=lambda path: path.stem)
def test_pictures_and_pages_that_are_linked_exist(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXTS[page]):
        assert (page.parent / target).exists(), target
