"""The wheel, installed into an empty environment, does what the README says."""

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
USE = """
import numpy as np, phinmf
Y = phinmf.to_frames(np.random.default_rng(0).standard_normal(2000), 32)
r = phinmf.tl_nmf(Y, n_components=2, max_iter=3, tol=0)
assert np.abs(r.Phi @ r.Phi.T - np.eye(32)).max() < 1e-12
print(phinmf.__version__, phinmf.__file__)
"""


def run(*command, cwd):
    env = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_wheel_and_sdist(tmp_path):
    import phinmf

    run(sys.executable, "-m", "build", "--outdir", str(tmp_path / "dist"), str(ROOT), cwd=tmp_path)
    (wheel,) = (tmp_path / "dist").glob("phinmf-*.whl")
    (_sdist,) = (tmp_path / "dist").glob("phinmf-*.tar.gz")
    venv.create(tmp_path / "empty", with_pip=True)
    python = str(tmp_path / "empty" / "bin" / "python")
    run(python, "-m", "pip", "install", "--quiet", str(wheel), cwd=tmp_path)
    version, file = run(python, "-c", USE, cwd=tmp_path).split()
    assert version == phinmf.__version__
    assert str(tmp_path) in file
    assert (Path(file).parent / "py.typed").exists()
    for asset in ("template.html", "playback.js", "player.js", "style.css"):
        assert (Path(file).parent / "report" / asset).exists()
