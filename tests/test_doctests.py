"""Every example in a docstring runs, and prints what it says."""

import doctest
import importlib
from pathlib import Path

import numpy as np
import pytest
import soundfile

ROOT = Path(__file__).parents[1]
FILES = [path for path in sorted((ROOT / "src").rglob("*.py")) if ">>>" in path.read_text()]
#: Modules whose examples need Dask or PyTorch.
NEED_MORE = [
    p for p in FILES if "frames_from_files" in p.read_text() or "import torch" in p.read_text()
]


@pytest.mark.parametrize(
    "path", [pytest.param(p, marks=[pytest.mark.full] * (p in NEED_MORE), id=p.stem) for p in FILES]
)
def test_examples_in_docstrings(path, tmp_path, monkeypatch):
    """In a folder with two recordings, a.wav and b.wav."""
    text = path.read_text()
    assert "+SKIP" not in text
    noise = np.random.default_rng(0).standard_normal(4000)
    for name in ("a.wav", "b.wav"):
        soundfile.write(tmp_path / name, 0.1 * noise, 8000)
    monkeypatch.chdir(tmp_path)
    name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
    module = importlib.import_module(name.removesuffix(".__init__"))
    failed, tried = doctest.testmod(module)
    assert failed == 0
    assert tried == sum(line.strip().startswith(">>>") for line in text.splitlines())


def test_pages_have_no_examples_that_nobody_runs():
    """The code blocks of the pages run in test_pages.py."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    assert [page.name for page in pages if ">>>" in page.read_text()] == []
