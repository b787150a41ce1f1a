"""Text in and out: terminals of any encoding, names of any bytes, and quiet that is quiet."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import soundfile
from sound_files import integers, write

from phinmf.cli import main

QUICK = ["-k", "2", "--window", "64", "--max-time", "0.2", "--no-report"]
ENCODINGS = [
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "latin-1"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
]


def phinmf(here, *arguments, **env):
    command = [sys.executable, "-m", "phinmf", *arguments]
    return subprocess.run(
        command, cwd=here, env={**os.environ, **env}, capture_output=True, timeout=120, check=False
    )


@pytest.mark.full
@pytest.mark.parametrize("env", ENCODINGS, ids=str)
def test_a_terminal_of_another_encoding(tmp_path, env):
    """A name in Cyrillic, a title and a folder: nothing is lost after the work."""
    write(tmp_path / "сон.wav")
    with soundfile.SoundFile(tmp_path / "сон.wav", "r+") as file:
        file.title = "Ночь…"
    done = phinmf(tmp_path, "unmix", "сон.wav", *QUICK, "--json", "-o", "выход", **env)
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)
    assert result["source"]["path"].encode("utf-8", "surrogateescape").decode() == "сон.wav"
    saved = json.loads((tmp_path / "выход/сон/result.json").read_text(encoding="utf-8"))
    assert saved["source"]["tags"]["title"] == "Ночь…"
    assert b"bit for bit" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["", "unmix", "demo", "report", "env"])
def test_help_in_plain_letters(capsys, command):
    """What has to be escaped cannot be read."""
    with pytest.raises(SystemExit) as stopped:
        main([*command.split(), "--help"])
    assert stopped.value.code == 0
    capsys.readouterr().out.encode("ascii")


@pytest.mark.full
def test_a_name_that_is_not_text(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"caf\xe9.wav")
    try:
        (tmp_path / name).write_bytes(b"")
    except OSError:
        pytest.skip("this file system takes names in Unicode only")
    write(tmp_path / "other.wav")
    os.replace(tmp_path / "other.wav", tmp_path / name)
    assert main(["unmix", name, *QUICK[:-1], "--json"]) == 0
    said = capsys.readouterr()
    assert r"caf\xe9.wav: the components add up" in said.err
    assert json.loads(said.out)[0]["source"]["path"] == name
    folder = tmp_path / "out" / os.fsdecode(b"caf\xe9")
    parts = [integers(os.fsencode(path)) for path in sorted(folder.glob("component_*.wav"))]
    assert np.array_equal(sum(parts), integers(os.fsencode(tmp_path / name)))
    assert (
        json.loads((folder / "result.json").read_text(encoding="utf-8"))["source"]["path"] == name
    )
    assert main(["unmix", str(folder), "--group", "all=1,2"]) == 0
    assert main(["report", str(folder)]) == 0
    assert (folder / "report.html").exists()


def test_names_that_a_terminal_would_obey(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    name = "[red]a[bold] :smile: \x1b[31m\x07\u202e.wav"
    write(tmp_path / "song.wav")
    os.replace(tmp_path / "song.wav", tmp_path / name)
    assert main(["unmix", name, *QUICK]) == 0
    said = capsys.readouterr().err
    assert r"[red]a[bold] :smile: \x1b[31m\x07\u202e.wav: the components" in said
    assert main(["unmix", name, *QUICK]) == 1
    assert main(["unmix", "\x1b[2J.wav"]) == 1
    with pytest.raises(SystemExit):
        main(["unmix", name, "--nothing\x1b[2J"])
    said = "".join(capsys.readouterr())
    assert said.count("[red]a[bold] :smile:") >= 2
    assert not {"\x1b", "\x07", "\u202e"} & set(said)


@pytest.mark.full
def test_quiet_prints_errors_alone(tmp_path):
    write(tmp_path / "song.wav")
    done = phinmf(tmp_path, "unmix", "song.wav", *QUICK, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    gone = phinmf(tmp_path, "unmix", "gone.wav", *QUICK, "--quiet")
    assert gone.stderr == b"phinmf: gone.wav does not exist\n"
