"""The site builds without a warning, and docstrings describe what they document."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

pytest.importorskip("sphinx_gallery")
validate = pytest.importorskip("numpydoc.validate").validate

from reference import listed

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
#: Rules of numpydoc: there is a docstring with a summary, and the parameters of the signature are
#: described in their order; for what users call, all of them and what is returned are described.
ALWAYS = {"GL08", "SS01", "SS03", "PR02", "PR03", "PR07", "RT03"}
COMPLETE = {"PR01", "RT01"}
NAMES = sorted(name for name, value in listed().items() if callable(value))


@pytest.mark.parametrize("name", NAMES)
def test_docstrings_describe_the_parameters(name):
    report = validate(name)
    complete = name.count(".") == 1 or name.startswith("phinmf.analysis.")
    rules = ALWAYS | COMPLETE if complete and report["type"] == "function" else ALWAYS
    assert [rule for rule in report["errors"] if rule[0] in rules] == []


def test_the_site_builds_without_a_warning_and_its_links_lead_somewhere(tmp_path):
    """Built from a copy of what it needs; the examples are not run."""
    unwanted = shutil.ignore_patterns("_build", "generated", "__pycache__")
    for folder in ("docs", "examples", "src/phinmf", "benchmarks/results"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=unwanted)
    shutil.rmtree(tmp_path / "docs/examples", ignore_errors=True)  # the gallery of another build
    for file in (*ROOT.glob("*.md"), *ROOT.glob("*.cff")):
        shutil.copy(file, tmp_path)
    html = tmp_path / "docs/_build/html"
    sphinx = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-D", "plot_gallery=0"]
    where = ["-b", "html", "-d", tmp_path / "doctrees", tmp_path / "docs", html]
    done = subprocess.run([*sphinx, *where], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    dead = [
        f"{page.relative_to(html)}: {link}"
        for page in html.rglob("*.html")
        if html / "_static" not in page.parents  # templates of the theme
        for link in re.findall(r'(?:href|src)="(?!\w+:|#|//)([^"#?]+)', page.read_text("utf-8"))
        if not (page.parent / unquote(link)).exists()
    ]
    assert dead == []
