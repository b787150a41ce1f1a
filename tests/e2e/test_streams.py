"""Standard output and error that are closed, full or not read."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux alone has it")
BUFFERED = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}


def phinmf(folder, command, **how):
    line = f'"{sys.executable}" -m phinmf {command}'
    return subprocess.run(
        line, shell=True, cwd=folder, env=BUFFERED, capture_output=True, text=True, **how
    )


@pytest.mark.full
def test_a_closed_standard_error_does_not_end_up_in_the_results(tmp_path):
    end = phinmf(tmp_path, "unmix nowhere.wav --json 2>&-")
    assert end.returncode == 1
    assert json.loads(end.stdout) == []


@pytest.mark.full
@pytest.mark.parametrize("where", [">/dev/full", "| true"])
def test_results_that_cannot_be_written_are_an_error_in_one_sentence(tmp_path, where):
    end = phinmf(tmp_path, f"env {where}; exit ${{PIPESTATUS[0]}}", executable="/bin/bash")
    assert end.returncode == 1
    assert end.stderr.startswith("phinmf: standard output cannot be written (")
    assert end.stderr.count("\n") == 1
