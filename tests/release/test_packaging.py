"""What the files of a release say about version, address, Python and dependencies agrees."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

import phinmf

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
#: one environment has all of them; PyTorch, which is large, is tested at its oldest by hand
LOWER_BOUNDS = {
    requirement.name: requirement
    for group in ("", *sorted(set(EXTRAS) - {"gpu", "lint"}))
    for requirement in map(Requirement, EXTRAS[group] if group else PROJECT["dependencies"])
    if requirement.name != "phinmf"
}


def oldest():
    """The versions in .ci/oldest.txt."""
    lines = (ROOT / ".ci/oldest.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if not line.startswith("#")]
    return {pin.name: Version(str(pin.specifier).removeprefix("==")) for pin in pins}


def supported_pythons():
    """The versions of Python that the classifiers name, from old to new."""
    pattern = r"Programming Language :: Python :: (3\.\d+)"
    return [found[1] for c in PROJECT["classifiers"] if (found := re.fullmatch(pattern, c))]


def test_the_version_is_the_same_everywhere():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(\d.*?)\] - (\S+)$", changelog, re.M)
    assert CITATION["version"] == phinmf.__version__
    if newest and "## [Unreleased]" not in changelog:
        assert newest.groups() == (phinmf.__version__, str(CITATION["date-released"]))


def test_the_oldest_python_is_the_same_everywhere():
    oldest_python, *_ = supported_pythons()
    assert PROJECT["requires-python"] == f">={oldest_python}"
    assert PYPROJECT["tool"]["mypy"]["python_version"] == oldest_python
    assert PYPROJECT["tool"]["ruff"]["target-version"] == f"py{oldest_python.replace('.', '')}"


def test_the_address_is_the_same_everywhere():
    home = PROJECT["urls"]["Homepage"]
    assert all(url.startswith(home) for url in PROJECT["urls"].values())
    assert CITATION["repository-code"] == home
    kinds = ("*.md", "*.json", "*.toml", "docs/**/*.md", ".github/**/*.yml")
    for file in (file for kind in kinds for file in ROOT.glob(kind)):
        found = re.findall(r"https://github\.com/[\w.-]+/phinmf\b", file.read_text("utf-8"))
        assert set(found) <= {home}, f"{file} has another address"


@pytest.mark.parametrize("requirement", EXTRAS["lint"])
def test_linters_have_exact_versions(requirement):
    (bound,) = Requirement(requirement).specifier
    assert bound.operator == "=="
    assert "*" not in bound.version


@pytest.mark.parametrize("name", LOWER_BOUNDS)
def test_the_oldest_supported_version_is_tested(name):
    (bound,) = LOWER_BOUNDS[name].specifier
    assert bound.operator == ">="
    assert oldest()[name] == Version(bound.version), "make test-oldest must pass with it"
