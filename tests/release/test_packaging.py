"""What the files of a release say about the version and the dependencies agrees."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import phinmf

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
#: make test-oldest installs all of them; PyTorch, which is large, is tested at its oldest by hand
LOWER_BOUNDS = {
    requirement.name: requirement
    for group in ("", *sorted(set(EXTRAS) - {"gpu", "lint"}))
    for requirement in map(Requirement, EXTRAS[group] if group else PROJECT["dependencies"])
    if requirement.name != "phinmf"
}


def test_the_version_is_the_same_everywhere():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    version, released = (
        re.search(rf"^{name}: \"?(.*?)\"?$", citation, re.M)[1]
        for name in ("version", "date-released")
    )
    assert version == phinmf.__version__
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(\d.*?)\] - (\S+)$", changelog, re.M)
    if "## [Unreleased]" not in changelog:
        assert newest.groups() == (version, released)


@pytest.mark.parametrize("name", LOWER_BOUNDS)
def test_the_oldest_supported_version_is_tested(name):
    lines = (ROOT / ".ci/oldest.txt").read_text(encoding="utf-8").splitlines()
    pins = {pin.name: pin for pin in map(Requirement, lines[2:])}
    (bound,) = LOWER_BOUNDS[name].specifier
    (pin,) = pins[name].specifier
    assert (bound.operator, pin.operator) == (">=", "==")
    assert Version(pin.version) == Version(bound.version)
