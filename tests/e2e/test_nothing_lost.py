"""What phinmf did not write stays, and what it writes is whole, whatever goes wrong meanwhile."""

import json
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
import soundfile
from kept import QUICK, check_whole, everything, unchanged_by
from sound_files import RATE, tones, write

import phinmf
from phinmf import unmix_file
from phinmf.audio import files, writing
from phinmf.cli import main
from phinmf.unmixing import folder, interrupts, placing, sums

UNMIX = ["unmix", "song.wav", *QUICK]
OWN = {"component_01.wav", "component_02.wav", "model.npz", "overview.npy", "result.json"}
SIGNALS = {"SIGINT": 1, "SIGTERM": 143, "SIGHUP": 129}


@pytest.fixture
def song(here):
    write(here / "song.wav", subtype="PCM_16")
    return here


@pytest.fixture
def out(song, capsys):
    """The folder that unmixing a recording has written."""
    assert main(UNMIX) == 0
    capsys.readouterr()
    return song / "out/song"


def check_alone(out, *names):
    """A folder is whole, has the files of some names, and nothing is beside it."""
    check_whole(out)
    assert set(names) <= {path.name for path in out.iterdir()}
    assert [path.name for path in out.parent.iterdir()] == [out.name]


FOREIGN = {
    "a file": lambda out: (out / "thesis.tex").write_text("years of work"),
    "a hidden file": lambda out: (out / ".notes").write_text("years of work"),
    "a folder": lambda out: (out / "takes").mkdir(),
    "a link": lambda out: (out / "link").symlink_to(out.parent),
    "a changed file with an old time": lambda out: (
        (out / "component_01.wav").write_bytes(b"edited"),
        os.utime(out / "component_01.wav", (0, 0)),
    ),
    "a changed file of the same size": lambda out: (
        later := (out / "component_01.wav").stat().st_mtime + 1,
        (out / "component_01.wav").write_bytes((out / "component_02.wav").read_bytes()),
        os.utime(out / "component_01.wav", (later, later)),
    ),
    "a changed result": lambda out: (out / "result.json").write_text(
        (out / "result.json").read_text().replace("component_01.wav", "../../song.wav")
    ),
    "a forged result": lambda out: (out / "result.json").write_text('{"files": {"x": 1}}'),
    "a link for a file": lambda out: (
        shutil.move(out / "component_01.wav", out.parent.parent / "elsewhere.wav"),
        (out / "component_01.wav").symlink_to(out.parent.parent / "elsewhere.wav"),
    ),
    "only a result": lambda out: (
        shutil.rmtree(out), out.mkdir(), (out / "result.json").write_text("{}"),
    ),
    "a file for the folder": lambda out: (shutil.rmtree(out), out.write_text("work")),
    "a link for the folder": lambda out: (
        shutil.move(out, out.parent.parent / "other"),
        out.symlink_to(out.parent.parent / "other"),
    ),
    "a broken link for the folder": lambda out: (
        shutil.rmtree(out), out.symlink_to(out.parent.parent / "other"),
    ),
    "the current folder": os.chdir,
}  # fmt: skip


@pytest.mark.parametrize("name", FOREIGN)
def test_a_folder_with_the_work_of_somebody_else_is_not_replaced(song, out, capsys, name):
    FOREIGN[name](out)
    command = ["unmix", str(song / "song.wav"), *QUICK, "-o", str(out.parent), "--overwrite"]
    unchanged_by(song, capsys, command, "is not replaced")


def test_an_own_folder_and_an_empty_one_are_replaced(song):
    (song / "out/song").mkdir(parents=True)
    assert main([*UNMIX, "--overwrite", "-k", "3", "--group", "a=1"]) == 0
    check_alone(song / "out/song", "a.wav", "component_03.wav")
    assert main(["report", "out/song"]) == 0
    assert main([*UNMIX, "--overwrite"]) == 0
    assert {path.name for path in (song / "out/song").iterdir()} == OWN
    check_alone(song / "out/song")


def test_what_is_being_read_is_not_replaced(song, out, capsys):
    """The recording, another input, or the model."""
    (song / "mono").mkdir()
    write(song / "mono/mono.wav")
    command = ["unmix", "mono/mono.wav", *QUICK, "-o", ".", "--overwrite"]
    unchanged_by(song, capsys, command, "mono holds mono.wav, which is being read")
    again = [*UNMIX, "--overwrite", "--model", "out/song/model.npz"]
    unchanged_by(song, capsys, again, "holds model.npz")
    os.link(out / "component_01.wav", song / "part.wav")
    before = everything(out)
    assert main(["unmix", "part.wav", *UNMIX[1:], "--overwrite"]) == 1
    assert "holds component_01.wav" in capsys.readouterr().err
    assert everything(out) == before


def test_what_is_added_while_it_learns_stays(song, out, monkeypatch):
    learn, before = unmix_file.learn, everything(out)

    def slowly(*how):
        (out / "thesis.tex").write_text("years of work")
        return learn(*how)

    monkeypatch.setattr(unmix_file, "learn", slowly)
    assert main([*UNMIX, "--overwrite"]) == 1
    assert everything(out) == before | {"thesis.tex": b"years of work"}
    assert [path.name for path in out.parent.iterdir()] == ["song"]


def test_save_writes_the_same_folder_and_keeps_what_it_did_not_write(here):
    u = phinmf.unmix(tones(2000, 2), RATE, 2, window=64, solver=None, seed=0)
    u.save("x")
    sounds = [soundfile.read(here / f"x/component_0{k}.wav")[0] for k in (1, 2)]
    assert np.allclose(sum(sounds), u.mixture, atol=1e-6)
    with pytest.raises(FileExistsError):
        u.save("x")
    u.save("x", overwrite=True, format="flac", subtype="PCM_16")
    check_alone(here / "x", "component_02.flac")
    (here / "x/thesis.tex").write_text("years of work")
    before = everything(here)
    with pytest.raises(FileExistsError, match=r"thesis\.tex"):
        u.save("x", overwrite=True)
    assert everything(here) == before


@pytest.mark.parametrize("where", ["song", "rest.wav"])
def test_a_rename_that_fails_is_rolled_back(song, monkeypatch, capsys, where):
    """Of a folder, and of a file of a grouping."""
    assert main([*UNMIX, "--group", "low=1"]) == 0
    capsys.readouterr()
    before, rename = everything(song), os.rename

    def fails(source, target):
        if os.path.basename(target) == where and "new" in str(source):
            raise OSError(5, "Input/output error")
        rename(source, target)

    monkeypatch.setattr(os, "rename", fails)
    regroup = ["unmix", "out/song", "--group", "a=2"]
    assert main([*UNMIX, "--overwrite"] if where == "song" else regroup) == 1
    assert "Input/output error" in capsys.readouterr().err
    assert everything(song) == before


def test_a_new_grouping_takes_the_place_of_the_one_before(song, capsys):
    assert main([*UNMIX, "-k", "4", "--group", "low=1,2 high=3"]) == 0
    out = song / "out/song"
    check_alone(out, "low.wav", "high.wav", "rest.wav")
    for text, names in (("low=3 Rest=1,2,4", "low Rest"), ("a=1", "a rest"), ("b=1", "b rest")):
        assert main(["unmix", "out/song", "--group", text]) == 0
        groups = {f"{name}.wav" for name in names.split()}
        assert {path.name for path in out.glob("[!c]*.wav")} == groups
        check_alone(out)
    (out / "mine.wav").write_bytes(b"my own")
    capsys.readouterr()
    unchanged_by(song, capsys, ["unmix", "out/song", "--group", "mine=1"], "mine.wav")
    unchanged_by(song, capsys, ["unmix", "out/song", "--group", "rest=1"], "rest")


def test_two_groupings_at_the_same_time(out, monkeypatch, capsys):
    measure, first = sums.measure, [True]

    def meanwhile(*how):
        if first and first.pop():
            assert main(["unmix", "out/song", "--group", "b=1"]) == 0
        return measure(*how)

    monkeypatch.setattr(sums, "measure", meanwhile)
    assert main(["unmix", "out/song", "--group", "a=1"]) == 1
    assert "was changed meanwhile" in capsys.readouterr().err
    check_alone(out, "b.wav", "rest.wav")


@pytest.mark.parametrize("kind", ["path", "link", "fifo", "page"])
def test_a_report_stays_in_its_folder(song, out, capsys, kind):
    write(song / "secret.wav")
    if kind == "path":
        content = json.loads((out / "result.json").read_bytes())
        content["components"][0]["file"] = "../../secret.wav"
        (out / "result.json").write_text(json.dumps(content))
    elif kind == "page":
        (out / "report.html").symlink_to(song / "secret.wav")
    else:
        (out / "component_01.wav").unlink()
        make = os.mkfifo if kind == "fifo" else lambda path: path.symlink_to(song / "secret.wav")
        make(out / "component_01.wav")
    said = "move it away" if kind == "page" else "not a file of its folder"
    unchanged_by(song, capsys, ["report", "out/song"], said)
    if kind != "page":
        unchanged_by(song, capsys, ["unmix", "out/song", "--groups", "1"], said)


@pytest.mark.parametrize("kind", ["short", "empty", "other samples"])
@pytest.mark.parametrize("format", ["wav", "flac"])
def test_a_file_that_is_not_what_was_written(song, monkeypatch, capsys, kind, format):
    """A last flush that fails, a disk that keeps something else."""
    close = writing.Stems.__exit__

    def flawed(stems, *how):
        close(stems, *how)
        path = stems.paths[1]
        if kind == "other samples":
            y, rate = soundfile.read(path)
            write(path, 0.5 * y, rate, subtype="PCM_16")
        else:
            os.truncate(path, path.stat().st_size // 2 if kind == "short" else 0)

    monkeypatch.setattr(writing.Stems, "__exit__", flawed)
    before = everything(song)
    assert main([*UNMIX, "--format", format]) == 1
    assert everything(song) == before
    assert "file 2 of 2 cannot be read back as it was written" in capsys.readouterr().err


def test_a_recording_that_changes_while_it_is_read(song, monkeypatch, capsys):
    blocks, calls = files.blocks, []

    def changing(*how):
        calls.append(1)
        if len(calls) == 2:
            write(song / "new.wav", tones(seed=1))
            os.replace(song / "new.wav", song / "song.wav")
        return blocks(*how)

    monkeypatch.setattr(files, "blocks", changing)
    assert main(UNMIX) == 1
    assert "was changed while it was read" in capsys.readouterr().err
    assert not (song / "out").exists()


def after(monkeypatch, owner, name, *signals, where=""):
    """Send signals when a function has done its work, at the first call whose target ends so."""
    function, calls = getattr(owner, name), []

    def signalled(*arguments, **options):
        result = function(*arguments, **options)
        if not calls and (not where or str(arguments[1]).endswith(where)):
            calls.append(1)
            for number in signals:
                signal.raise_signal(number)
        return result

    monkeypatch.setattr(owner, name, signalled)
    return calls


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize(
    ("owner", "where"), [(unmix_file, "learn"), (folder, "measure"), (phinmf.UnmixModel, "save")]
)
def test_a_signal_at_any_time_leaves_nothing(song, monkeypatch, capsys, name, owner, where):
    number = getattr(signal, name)
    handlers = {number: signal.getsignal(number) for number in interrupts.SIGNALS}
    (song / "a").mkdir()
    before = everything(song)
    after(monkeypatch, owner, where, *[number] * (2 if name == "SIGINT" else 1))
    assert main([*UNMIX, "-o", "a/b/c"]) == SIGNALS[name]
    assert "no incomplete files remain" in capsys.readouterr().err
    assert everything(song) == before
    assert {number: signal.getsignal(number) for number in interrupts.SIGNALS} == handlers


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("grouping", [False, True])
def test_a_signal_while_files_are_exchanged_waits(song, monkeypatch, name, grouping):
    assert main([*UNMIX, "--group", "a=1"]) == 0
    number = getattr(signal, name)
    moved_away = "" if grouping else placing.BEFORE
    calls = after(monkeypatch, os, "rename", number, number, where=moved_away)
    again = ["unmix", "out/song", "--group", "b=1"]
    assert main(again if grouping else [*UNMIX, "-k", "3", "--overwrite"]) in (0, SIGNALS[name])
    assert calls
    names = ["b.wav", "rest.wav"] if grouping else ["component_03.wav"]
    check_alone(song / "out/song", *names)


def test_a_signal_that_is_ignored_stays_ignored(song):
    """As by nohup, and in scripts that run in the background."""
    code = (
        "import os, signal, sys\n"
        "from phinmf import unmix_file\n"
        "from phinmf.cli import main\n"
        "numbers = [signal.SIGHUP, signal.SIGINT]\n"
        "for number in numbers: signal.signal(number, signal.SIG_IGN)\n"
        "learn = unmix_file.learn\n"
        "def signalled(*arguments):\n"
        "    for number in numbers * 2: os.kill(os.getpid(), number)\n"
        "    return learn(*arguments)\n"
        "unmix_file.learn = signalled\n"
        f"sys.exit(main({UNMIX}))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=song).returncode == 0
    check_alone(song / "out/song")


def test_the_first_signal_alone_ends_a_command_and_is_never_lost(monkeypatch):
    from phinmf.cli.progress import Ended, ended_by_signals, progress_of

    class Fleeting:
        def __del__(self):  # where exceptions are ignored
            signal.raise_signal(signal.SIGTERM)

    ignored = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    with ended_by_signals(), progress_of("song", quiet=True) as bar:
        Fleeting()
        assert ignored
        with pytest.raises(Ended, match="SIGTERM"):
            bar("learning", 0.5)
    with ended_by_signals():
        with pytest.raises(Ended, match="interrupted"):
            signal.raise_signal(signal.SIGINT)
        for name in SIGNALS:
            signal.raise_signal(getattr(signal, name))  # while what is half-written is removed
