"""The Python of the README and of the documentation runs as it stands."""

import re
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import soundfile
from clusters import needs_dask

from phinmf.divergences import DIVERGENCES
from phinmf.engines import ENGINES
from phinmf.inits import INITS
from phinmf.penalties import PENALTIES
from phinmf.solvers import SOLVERS

ROOT = Path(__file__).parents[2]
PAGES = [
    page.relative_to(ROOT).as_posix()
    for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
    if "```python" in page.read_text()
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("page", PAGES)
def test_code_of_pages(page, tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)
    if any("frames_from_files" in block for block in blocks):
        needs_dask()
    if any("torch" in block for block in blocks):
        pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    soundfile.write(tmp_path / "recording.wav", 0.1 * rng.standard_normal(8000), 8000)
    monkeypatch.chdir(tmp_path)
    with ExitStack() as registries:  # what a page adds to them is removed again
        for registry in (DIVERGENCES, ENGINES, INITS, PENALTIES, SOLVERS):
            registries.enter_context(patch.dict(registry))
        for block in blocks:
            exec(compile(block, page, "exec"), {})


@pytest.mark.parametrize("page", [ROOT / "README.md", *ROOT.glob("docs/**/*.md")], ids=str)
def test_pictures_and_pages_that_are_linked_exist(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target
