"""Commands as processes: terminals, streams, limits of the system, and kills."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from kept import QUICK
from sound_files import tones, write

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux alone has it"),
]

ENVIRONMENT = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}


def phinmf(folder, line, **variables):
    """Run a line of a shell in a folder, in which phinmf is the command of this source."""
    line = f'phinmf() {{ "{sys.executable}" -m phinmf "$@"; }}; {line}'
    return subprocess.run(
        ["/bin/bash", "-c", line], cwd=folder, env=ENVIRONMENT | variables, capture_output=True
    )


@pytest.mark.parametrize(
    "encoding",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
    ids=str,
)
def test_a_terminal_of_another_encoding(tmp_path, encoding):
    """A name in Cyrillic, a title and a folder: nothing is lost after the work."""
    write(tmp_path / "сон.wav")
    with soundfile.SoundFile(tmp_path / "сон.wav", "r+") as file:
        file.title = "Ночь…"
    end = phinmf(tmp_path, f"phinmf unmix сон.wav {shlex.join(QUICK)} --json -o выход", **encoding)
    assert end.returncode == 0, end.stderr
    (record,) = json.loads(end.stdout)
    assert record["source"]["path"].encode("utf-8", "surrogateescape").decode() == "сон.wav"
    saved = json.loads((tmp_path / "выход/сон/result.json").read_text(encoding="utf-8"))
    assert saved["source"]["tags"]["title"] == "Ночь…"
    assert b"bit for bit" in end.stderr
    assert b"Traceback" not in end.stderr


#: Lines of a shell, their exit codes, standard output, and what their standard error begins with.
STREAMS = [
    (f"phinmf unmix song.wav {shlex.join(QUICK)} --quiet", 0, b"", b""),
    ("phinmf unmix gone.wav --quiet", 1, b"", b"phinmf: gone.wav does not exist\n"),
    ("phinmf unmix gone.wav --json 2>&-", 1, b"[]\n", b""),
    ("phinmf env >/dev/full", 1, b"", b"phinmf: standard output cannot be written ("),
    ("phinmf env | true; exit ${PIPESTATUS[0]}", 1, b"", b"phinmf: standard output cannot be"),
]


@pytest.mark.parametrize(("line", "code", "out", "err"), STREAMS)
def test_streams_that_are_closed_full_or_quiet(tmp_path, line, code, out, err):
    write(tmp_path / "song.wav")
    end = phinmf(tmp_path, line)
    assert (end.returncode, end.stdout) == (code, out)
    assert end.stderr.startswith(err)
    assert end.stderr.count(b"\n") == (err != b"")


LIMITED = """
import resource, sys
resource.setrlimit(resource.{0}, ({1}, {1}))
from phinmf.cli import main
sys.exit(main({2}))
"""


@pytest.mark.parametrize(
    ("command", "limit", "value", "said"),
    [
        (["unmix", "song.wav", *QUICK], "RLIMIT_FSIZE", 30_000, "File too large"),
        (["unmix", "song.wav", *QUICK, "-k", "30"], "RLIMIT_NOFILE", 20, "Too many open files"),
    ],
)
def test_a_full_disk_and_too_many_files_are_named(tmp_path, command, limit, value, said):
    write(tmp_path / "song.wav", tones(40_000))
    code = LIMITED.format(limit, value, command)
    end = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": ""},
    )  # fmt: skip
    assert end.returncode == 1
    assert f"cannot be written ({said})" in end.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["song.wav"]


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


def start_fit(folder, name):
    """Start a fit that continues from its checkpoint; return its process once it fits."""
    files = [folder / f"{name}.checkpoint", folder / f"{name}.npz"]
    process = subprocess.Popen(
        [sys.executable, "-c", FIT, Path(__file__).parents[1], *files],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process.stdout as output:
        assert output.readline() == "fitting\n"
    return process


def test_a_fit_that_is_killed_at_random_moments_ends_with_the_same_bits(tmp_path):
    rng = np.random.default_rng()  # truly random: what holds must hold at any moment
    assert start_fit(tmp_path, "straight").wait() == 0
    kills = 0
    while True:
        process = start_fit(tmp_path, "killed")
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
