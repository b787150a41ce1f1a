"""The quick benchmarks that ``make history`` runs on one commit after the other."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def asv(tmp_path):
    """Run asv with a home and results of its own; it must not write to the user's."""
    pytest.importorskip("asv")
    settings = json.loads((ROOT / "asv.conf.json").read_text(encoding="utf-8"))
    settings |= {name: str(tmp_path / name) for name in ("results_dir", "env_dir", "html_dir")}
    settings["benchmark_dir"] = str(ROOT / settings["benchmark_dir"])
    settings["repo"] = str(ROOT)
    (tmp_path / "asv.conf.json").write_text(json.dumps(settings), encoding="utf-8")
    own = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "ASV_PYTHONPATH": str(ROOT / "src")}

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "asv", *arguments],
            cwd=tmp_path, env=os.environ | own, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("machine", "--yes")
    return run


def test_a_benchmark_runs(asv):
    """Before it runs one, asv imports all modules and looks for the benchmarks in them."""
    told = asv("run", "--python=same", "--quick", "--dry-run", "--bench", "time_to_frames")
    assert re.search(r"Frames\.time_to_frames\s+[\d.]+±\S+s", told)
