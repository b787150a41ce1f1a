"""What is typed and named: refused before anything is learned, and one bad input stops no other."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from kept import QUICK
from sound_files import integers, tones, write

from phinmf import unmix_file
from phinmf.cli import main

NAME = "[red]a[bold] :smile: \x1b[31m\x07\u202e.wav"  #: which a terminal would obey
LOST = os.fsdecode(b"caf\xe9.wav")  #: which is not text


@pytest.fixture
def song(here, monkeypatch):
    """A recording of 4 s; learning from it fails the test."""
    write(here / "song.wav", tones(32_000))

    def learn(*_, **__):
        raise AssertionError("options are to be checked before anything is learned")

    monkeypatch.setattr(unmix_file, "learn", learn)
    return here


#: Values that only the recording shows to be wrong, and what is named in the message.
AGAINST_THE_RECORDING = {
    "--group a=1,25": "component 25", "-k 3 --group a=1-4": "component 4",
    "--group a=1 --group A=2": "'A'", "--group a=1-3;b=3": "component 3",
    "--group ../../evil=1": "'../../evil'", "--group .a=1": "'.a'",
    "--group component_01=1": "component_01", "--group COMPONENT_02=1": "COMPONENT_02",
    "--group rest=1": "rest", "-k auto --groups 2": "-k", "--groups 99": "--groups is 99",
    "--start 10": "--start is 10 s", "--atoms 100000": "--atoms is 100000",
    "--window 30s": "--window is '30s'", "--duration 0.02 -k 3": "-k is 3", "-k 400": "-k is 400",
    "--format nonsense": "--format is nonsense", "--format xyz": "--format is ",
    "--format SDS": "SDS", "--format RAW": "RAW", "--format HTK": "HTK",
    "--format flac --subtype float": "--subtype is FLOAT",
    "--model nothing.npz": "nothing.npz", "--like voice=nothing.wav": "nothing.wav",
    "--like a/b=song.wav": "a/b", "--like rest=song.wav": "rest", "--like a=@0s-99s": "99 s",
    "--like a=song.wav -k 1": "-k is 1", "--like a=song.wav --learn": "--learn is",
}  # fmt: skip


@pytest.mark.parametrize("how", AGAINST_THE_RECORDING)
def test_options_are_checked_against_the_recording(song, capsys, how):
    assert main(["unmix", "song.wav", *how.split()]) == 1
    said = capsys.readouterr().err
    assert AGAINST_THE_RECORDING[how] in said
    assert "song.wav" in said
    assert "n_components" not in said
    assert said.startswith("phinmf: ")
    assert said.count("\n") == 1
    assert list(song.iterdir()) == [song / "song.wav"]


#: Commands that are wrong whatever the recording, and what is named in the message.
IN_THEMSELVES = {
    "": "", "nothing": "nothing", "unmix": "FILE", "unmix song.wav -o ": "-o",
    "unmix song.wav --start=-1": "--start", "unmix song.wav --duration nan": "--duration",
    "unmix song.wav --sparsity inf": "--sparsity", "unmix song.wav --floor=-1": "--floor",
    "unmix song.wav --max-time=-3": "--max-time", "unmix song.wav --seed 1e3": "--seed",
    "unmix song.wav --threads 0": "--threads", "unmix song.wav -k many": "-k is 'many'",
    "unmix song.wav --groups 0": "--groups", "unmix song.wav --group drums": "--group",
    "unmix song.wav --group a=1 --groups 2": "--group and --groups do not go together",
    "unmix song.wav --window soon": "--window", "unmix song.wav --init guess": "--init",
    "unmix song.wav --preview --start 1": "--preview", "unmix song.wav --like voice": "--like is",
    "unmix song.wav --like =solo.wav": "--like is", "unmix song.wav --like voice=@": "--like is",
    "unmix song.wav --like voice=@3s-1s": "--like is",
    "unmix song.wav --device nonsense": "--device is ",
}  # fmt: skip


@pytest.mark.parametrize("command", IN_THEMSELVES)
def test_commands_that_cannot_be_meant(song, capsys, command):
    with pytest.raises(SystemExit) as stopped:
        main(command.split(" ") if command else [])
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("phinmf unmix: " if command.startswith("unmix") else "phinmf: ")
    assert IN_THEMSELVES[command] in said
    assert said.count("\n") == 1
    assert list(song.iterdir()) == [song / "song.wav"]


def test_every_recording_is_checked_before_the_first_is_begun(song, capsys):
    """Not after hours of learning from the others; a folder that exists is asked for last."""
    write(song / "z.wav", tones(100))
    write(song / "eight.wav", tones(channels=8))
    assert main(["unmix", "eight.wav", "--format", "mp3"]) == 1
    assert "eight.wav: --format is MP3" in capsys.readouterr().err
    assert main(["unmix", "song.wav", "z.wav", "-k", "20", "--quiet"]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert "z.wav: -k is 20" in first
    assert "song.wav: this is a fault of phinmf" in second  # learning has begun
    (song / "out/song").mkdir(parents=True)
    assert main(["unmix", "song.wav", "--format", "xyz"]) == 1
    assert "--format is " in capsys.readouterr().err
    assert main(["unmix", "song.wav"]) == 1
    assert "--overwrite" in capsys.readouterr().err


def silence(path):
    write(path, np.zeros(9000))


def cut(path):
    write(path, format="FLAC")
    path.write_bytes(path.read_bytes()[:2000])


def without_a_length(path):
    """A FLAC file as encoders of streams write it."""
    write(path, format="FLAC", subtype="PCM_16")
    content = bytearray(path.read_bytes())
    content[21] &= 0xF0
    content[22:26] = bytes(4)
    path.write_bytes(content)


def linked_pipe(path):
    os.mkfifo(path.with_name("a pipe"))
    path.symlink_to("a pipe")


#: Inputs that cannot be used, what makes them, and what is said.
UNUSABLE = {
    "": (None, "is empty"), "gone.wav": (None, "gone.wav does not exist"),
    "hollow": (lambda path: path.mkdir(), "hollow"), "/dev/null": (None, "/dev/null"),
    "a" * 5000: (None, "aaaa"), "pipe": (os.mkfifo, "pipe or a device"),
    "link.wav": (linked_pipe, "pipe or a device"), "zero.wav": (silence, "silent"),
    "nan.wav": (lambda path: write(path, np.full(9000, np.nan), subtype="FLOAT"), "near 0.0 s"),
    "none.wav": (lambda path: path.write_bytes(b""), "none.wav"),
    "film.m4a": (lambda path: path.write_bytes(bytes(100)), "ffmpeg"),
    "cut.flac": (cut, "cut.flac"),
    "stream.flac": (without_a_length, "does not say how long it is"),
    "..wav": (lambda path: write(path, format="WAV"), "rename it"),
    ". .wav": (lambda path: write(path, format="WAV"), "rename it"),
}  # fmt: skip


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_inputs_that_cannot_be_used_do_not_stop_the_others(here, capsys, quiet):
    """Each is named in one line."""
    write(here / "song.wav")
    for name, (make, _) in UNUSABLE.items():
        if make:
            make(here / name)
    assert main(["unmix", *UNUSABLE, "song.wav", *QUICK, *quiet, "--json"]) == 1
    said = capsys.readouterr()
    lines = [line for line in said.err.splitlines() if line.startswith("phinmf: ")]
    assert len(lines) == len(UNUSABLE)
    for name, (_, sentence) in UNUSABLE.items():
        about = [line for line in lines if line.startswith(f"phinmf: {name}") or not name]
        assert any(sentence in line for line in about), name
    assert [result["track"] for result in json.loads(said.out)] == ["song"]
    assert {path.name for path in here.glob("out/*")} == {"song"}


def test_files_and_folders_that_may_not_be_read_or_written(here, capsys, monkeypatch):
    """The mode of a file does not keep root from reading, so the refusal is made here."""
    write(here / "locked.wav")
    write(here / "song.wav")
    (here / "closed").mkdir()
    kinds = type(here)
    opens, lists = kinds.open, kinds.iterdir

    def refuse(path, *_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(
        kinds, "open", lambda p, *a, **k: (refuse if p.name == "locked.wav" else opens)(p, *a, **k)
    )
    monkeypatch.setattr(kinds, "iterdir", lambda p: (refuse if p.name == "closed" else lists)(p))
    assert main(["unmix", "locked.wav", "closed", "song.wav", *QUICK]) == 1
    said = capsys.readouterr().err
    assert "locked.wav: Permission denied" in said
    assert "closed: Permission denied" in said
    assert {path.name for path in here.glob("out/*")} == {"song"}
    locked = Path("/sys") if os.geteuid() == 0 else here / "unwritable"  # root writes elsewhere
    locked.mkdir(mode=0o500, exist_ok=True)
    assert main(["unmix", "song.wav", *QUICK, "-o", str(locked)]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_namesakes_and_files_that_are_named_twice(here, capsys):
    (here / "album").mkdir()
    for name in ("a.wav", "song.flac", "song.wav", "-kick.wav", "--start.wav"):
        write(here / "album" / name)
    os.chdir(here / "album")
    inputs = [".", "a.wav", "../gone/song.wav", "./-kick.wav", "--start.wav"]
    assert main(["unmix", *QUICK, "--quiet", "--", *inputs]) == 1
    missing, twice = sorted(capsys.readouterr().err.splitlines(), key=len)
    assert "../gone/song.wav does not exist" in missing
    assert "song.wav would be written to out/song, as song.flac is" in twice
    assert {path.name for path in Path("out").iterdir()} == {"a", "song", "-kick", "--start"}


def test_finished_folders_are_grouped_and_never_unmixed_again(here, capsys):
    write(here / "song.wav")
    write(here / "new.wav")
    assert main(["unmix", "song.wav", *QUICK]) == 0
    assert main(["unmix", "out/song", "-o", "again", *QUICK]) == 1
    assert "--group" in capsys.readouterr().err
    assert not (here / "again").exists()
    assert main(["unmix", "out/song", "new.wav", "--group", "a=1", *QUICK, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 2
    for name in ("song", "new"):
        assert (here / f"out/{name}/a.wav").exists()


def test_what_is_wrong_with_several_folders_is_said_of_each(here, capsys):
    names = "abcdefs"
    (here / "in").mkdir()
    for name in names:
        write(here / f"in/{name}.wav")
    assert main(["unmix", "in", *QUICK, "--quiet"]) == 0
    out = here / "out"
    (out / "a/result.json").write_text("{}")
    (out / "b/component_01.wav").unlink()
    (out / "c/component_02.wav").write_bytes(b"nothing")
    (out / "d/low.wav").write_bytes(b"mine")
    write(out / "e/component_01.wav", tones(100))
    (out / "f").rename(out / "gone")
    assert main(["unmix", *(f"out/{name}" for name in names), "--group", "low=1"]) == 1
    said = capsys.readouterr().err.splitlines()
    for name in "abcdef":
        assert sum(f"out/{name}" in line and line.startswith("phinmf: ") for line in said) == 1
    for command in (["report"], ["export", "-o", "x"]):
        for name in "abcef":
            assert main([*command, f"out/{name}"]) == 1
            assert f"out/{name}" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "shown"), [(NAME, r"\x1b[31m\x07\u202e"), (LOST, r"caf\xe9")])
def test_names_that_a_terminal_would_obey_and_that_are_not_text(here, capsys, name, shown):
    write(here / "song.wav")
    try:
        os.replace(here / "song.wav", here / name)
    except OSError:
        pytest.skip("this file system takes names in Unicode only")
    assert main(["unmix", name, *QUICK, "--json"]) == 0
    said = capsys.readouterr()
    assert f"{shown}.wav: the components" in said.err
    assert json.loads(said.out)[0]["source"]["path"] == name
    folder = here / "out" / name.removesuffix(".wav")
    record = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    assert record["source"]["path"] == name
    parts = [integers(os.fsencode(path)) for path in sorted(folder.glob("component_*.wav"))]
    assert np.array_equal(sum(parts), integers(os.fsencode(here / name)))
    assert main(["unmix", str(folder), "--group", "all=1,2"]) == 0
    assert main(["report", str(folder)]) == 0
    assert main(["unmix", name, *QUICK]) == 1
    assert main(["unmix", "\x1b[2J.wav"]) == 1
    with pytest.raises(SystemExit):
        main(["unmix", name, "--nothing\x1b[2J"])
    said = "".join(capsys.readouterr())
    assert shown in said
    assert not {"\x1b", "\x07", "\u202e"} & set(said)


def test_a_fault_is_an_apology_that_names_the_log(here, monkeypatch, capsys):
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "state"))
    monkeypatch.setattr(unmix_file, "learn", lambda *_: int("soon"))
    write(here / "song.wav")
    assert main(["unmix", "song.wav", "gone.wav", *QUICK]) == 1
    printed = capsys.readouterr().err
    said = [line for line in printed.splitlines() if line.startswith("phinmf: ")]
    log = here / "state/phinmf/errors.log"
    assert sum("fault of phinmf" in line and str(log) in line for line in said) == 1
    assert "phinmf: gone.wav does not exist" in said
    assert "Traceback" in log.read_text()
    assert "Traceback" not in printed
    assert not (here / "out").exists()
    assert main(["unmix", "song.wav", *QUICK, "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "song.wav"))  # cannot be written: no new error
    assert main(["unmix", "song.wav", *QUICK]) == 1
    assert "--debug" in capsys.readouterr().err
