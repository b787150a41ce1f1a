"""The Python of the README and the examples in docstrings run as they stand."""

import doctest
import re
from pathlib import Path

import numpy as np
import pytest
import soundfile

import phinmf.api

ROOT = Path(__file__).parents[2]


def test_docstrings():
    assert doctest.testmod(phinmf.api, optionflags=doctest.ELLIPSIS).failed == 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_readme_code(tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert blocks
    rng = np.random.default_rng(0)
    soundfile.write(tmp_path / "recording.wav", 0.1 * rng.standard_normal(8000), 8000)
    monkeypatch.chdir(tmp_path)
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


def test_readme_pictures_exist():
    for target in re.findall(r"!\[[^]]*\]\(([^)]+)\)", (ROOT / "README.md").read_text()):
        assert (ROOT / target).exists(), target
