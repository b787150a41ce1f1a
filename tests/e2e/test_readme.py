"""The Python and the commands of the README and of the documentation run as they stand."""

import re
import shlex
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import soundfile
from clusters import needs_dask

from phinmf.cli.main import get_parser
from phinmf.divergences import DIVERGENCES
from phinmf.engines import ENGINES
from phinmf.inits import INITS
from phinmf.solvers import SOLVERS

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
WRITTEN = [ROOT / "README.md", *sorted(ROOT.glob("[!R]*.md")), ROOT / "RELEASING.md"]
WRITTEN += sorted(ROOT.glob("docs/**/*.md"))
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```", re.S | re.M)


def blocks_of(pages):
    """The Python of each page, less what an earlier page has, too."""
    seen, found = set(), {}
    for page in pages:
        code = [text for kind, text in BLOCK.findall(page.read_text()) if kind == "python"]
        found[page.relative_to(ROOT).as_posix()] = [text for text in code if text not in seen]
        seen.update(code)
    return {page: code for page, code in found.items() if code}


def commands_of(pages):
    """The lines with which phinmf is started in blocks of the pages."""
    typed = [
        line
        for page in pages
        for kind, text in BLOCK.findall(page.read_text())
        if kind in ("", "console")
        for line in text.splitlines()
    ]
    return sorted({line for line in typed if line.startswith("phinmf ")})


PAGES, COMMANDS = blocks_of(WRITTEN), commands_of(WRITTEN)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("page", PAGES)
def test_code_of_pages(page, tmp_path, monkeypatch):
    blocks = PAGES[page]
    if any("frames_from_files" in block for block in blocks):
        needs_dask()
    if any("torch" in block for block in blocks):
        pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    soundfile.write(tmp_path / "recording.wav", 0.1 * rng.standard_normal(8000), 8000)
    monkeypatch.chdir(tmp_path)
    with ExitStack() as registries:  # what a page adds to them is removed again
        for registry in (DIVERGENCES, ENGINES, INITS, SOLVERS):
            registries.enter_context(patch.dict(registry))
        names: dict = {}  # of a reader, who types one block after the other
        for block in blocks:
            exec(compile(block, page, "exec"), names)


def test_the_first_page_shows_the_code_of_the_readme():
    assert "docs/index.md" not in PAGES  # it has no other code, which would run twice


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_pages_can_be_parsed(command):
    with patch("sys.exit", side_effect=AssertionError):
        assert get_parser().parse_args(shlex.split(command, comments=True)[1:]).command


def test_there_are_commands():
    assert len(COMMANDS) > 10


@pytest.mark.parametrize("page", WRITTEN, ids=str)
def test_pictures_and_pages_that_are_linked_exist(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target
