"""The Makefile explains itself, and its first target changes nothing."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = [name for line in re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.M) for name in line.split()]


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_has_a_sentence(target):
    assert re.search(rf"^{target}:.*  ## [A-Z].*[^.]$", MAKEFILE, re.M)


def test_every_target_without_a_file_is_declared():
    assert sorted(re.findall(r"^([a-z-]+):", MAKEFILE, re.M)) == sorted(TARGETS)


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make here")
def test_make_alone_prints_the_targets():
    alone = {name: text for name, text in os.environ.items() if "MAKE" not in name}  # not by make
    done = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True, env=alone)
    assert [line.split()[1] for line in done.stdout.splitlines()] == re.findall(
        r"^([a-z-]+):", MAKEFILE, re.M
    )


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "RELEASING.md"])
def test_every_target_that_is_named_exists(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"(?:^|`|&& |1 )make ([a-z-]+)", text, re.M)
    assert named
    assert set(named) <= set(TARGETS)


def test_clean_removes_all_that_is_built():
    """Whatever git ignores in the root and in docs, except caches and the user's own data.

    `phinmf unmix` writes into out, too: only what the targets write there is removed.
    """
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    built = {path.strip("/") for path in ignored if path.endswith("/") and "cache" not in path}
    removed = re.search(r"^clean:.*\n\trm -rf (.*)$", MAKEFILE, re.M)[1]
    removed = set(removed.replace("$(VENV)", ".venv").split())
    written = {"out/demo", "out/paper", "out/history"}
    assert all(path in MAKEFILE.partition("\nclean:")[0] for path in written)
    assert removed == built - {"data", "*.egg-info", ".hypothesis", "out"} | written
