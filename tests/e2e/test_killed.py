"""A fit that is killed again and again ends as if nothing had happened."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.full

FIT = """
import sys
sys.path.insert(0, sys.argv[1])
from problems import notes
import numpy as np, phinmf
Y = notes(M=64, n=40000)
print("fitting", flush=True)
r = phinmf.tl_nmf(Y, 4, init="random", random_state=0, tol=0, max_iter=60,
                  checkpoint=phinmf.Checkpoint(sys.argv[2], every=0, resume=True))
np.savez(sys.argv[3], Phi=r.Phi, W=r.W, H=r.H, objective=r.history.objective)
"""


def start(folder, name):
    tests = Path(__file__).parents[1]
    files = [folder / f"{name}.checkpoint", folder / f"{name}.npz"]
    process = subprocess.Popen(
        [sys.executable, "-c", FIT, tests, *files], stdout=subprocess.PIPE, text=True
    )
    with process.stdout as output:
        assert output.readline() == "fitting\n"
    return process


def test_sigkill_at_random_moments(tmp_path):
    rng = np.random.default_rng()  # truly random: what holds must hold at any moment
    assert start(tmp_path, "straight").wait() == 0
    kills = 0
    while True:
        process = start(tmp_path, "killed")
        try:
            assert process.wait(timeout=rng.uniform(0.05, 1.5) if kills < 6 else None) == 0
            break
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
    assert kills > 0
    straight, killed = (np.load(tmp_path / f"{name}.npz") for name in ("straight", "killed"))
    for name in straight:
        assert np.array_equal(straight[name], killed[name]), f"{name} after {kills} kills"
