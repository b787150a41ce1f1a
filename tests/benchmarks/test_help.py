"""A script that is asked for help measures nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
SCRIPTS = [*sorted(ROOT.glob("benchmarks/[a-z]*.py")), ROOT / "paper" / "reproduce.py"]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_help_says_what_a_script_does_and_ends(script):
    command = [sys.executable, script, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith("usage:")
