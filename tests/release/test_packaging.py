"""What the files of a release say about the version agrees."""

import re
from pathlib import Path

import phinmf

ROOT = Path(__file__).parents[2]


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
