"""With several inputs, every line that is printed says which one it is about."""

import os

import numpy as np
import pytest
from sound_files import tones, write

from phinmf.cli import main

QUICK = ["-k", "2", "--window", "64", "--max-time", "0.2"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    return tmp_path


def said_about(capsys, names):
    """Return the lines of standard error; each must name one of the inputs."""
    lines = capsys.readouterr().err.splitlines()
    assert lines
    for line in lines:
        assert any(name in line for name in names), line
    return lines


def test_what_is_wrong_with_several_recordings(here, capsys):
    write(here / "in/s.wav", np.zeros(9000))
    write(here / "in/n.wav", np.full(9000, np.nan), subtype="FLOAT")
    write(here / "in/t.wav", tones(40))
    write(here / "in/k.wav")
    (here / "in/e.wav").write_bytes(b"")
    (here / "in/c.flac").write_bytes(write(here / "c.flac").read_bytes()[:2000])
    os.mkfifo(here / "in/p.wav")
    names = [f"in/{name}" for name in ("s.wav", "n.wav", "t.wav", "e.wav", "c.flac", "p.wav", "x")]
    assert main(["unmix", *names, "in/k.wav", *QUICK, "--quiet", "--group", "a=1;b=3"]) == 1
    lines = said_about(capsys, [*names, "in/k.wav"])
    assert len(lines) == len(names) + 1
    assert all(sum(name in line for line in lines) == 1 for name in [*names, "in/k.wav"])


@pytest.mark.full
def test_what_is_wrong_with_several_folders(here, capsys):
    for name in "abcdes":
        write(here / f"in/{name}.wav")
    assert main(["unmix", "in", *QUICK, "-o", "o", "--no-report", "--quiet"]) == 0
    (here / "o/a/result.json").write_text("{}")
    (here / "o/b/component_01.wav").unlink()
    (here / "o/c/component_02.wav").write_bytes(b"nothing")
    (here / "o/d/low.wav").write_bytes(b"mine")
    write(here / "o/e/component_01.wav", tones(100))
    folders = [f"o/{name}" for name in "abcdes"]
    assert main(["unmix", *folders, "--group", "low=1"]) == 1
    lines = said_about(capsys, folders)
    wrong = [line for line in lines if line.startswith("phinmf: ")]
    assert len(wrong) == 5
    assert all(f"o/{name}" in line for name, line in zip("abcde", wrong, strict=True))
    for name in "abce":
        assert main(["report", f"o/{name}"]) == 1
        said_about(capsys, [f"o/{name}"])
    (here / "o/s/model.npz").write_bytes(b"nothing")
    assert main(["report", "o/s"]) == 1
    said_about(capsys, ["o/s"])
