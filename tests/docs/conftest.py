import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The site, built from a copy of what it needs; the examples are not run."""
    copy = tmp_path_factory.mktemp("site")
    unwanted = shutil.ignore_patterns("_build", "generated", "__pycache__")
    for folder in ("docs", "examples", "src/phinmf", "benchmarks/results"):
        if (ROOT / folder).exists():
            shutil.copytree(ROOT / folder, copy / folder, ignore=unwanted)
    shutil.rmtree(copy / "docs/examples", ignore_errors=True)  # the gallery of another build
    for file in (*ROOT.glob("*.md"), *ROOT.glob("*.cff")):
        shutil.copy(file, copy)
    html = copy / "docs/_build/html"
    sphinx = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    gallery = ["-D", "plot_gallery=0"] if (copy / "examples/README.rst").exists() else []
    where = ["-d", copy / "doctrees", copy / "docs", html]
    done = subprocess.run([*sphinx, *gallery, *where], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return html
