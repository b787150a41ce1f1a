"""Signals leave a finished folder or none, and never an empty or a hidden one."""

import os
import signal
import subprocess
import sys

import pytest
from sound_files import tones, write

import phinmf
from phinmf import unmix_file
from phinmf.cli import main
from phinmf.unmixing import folder, interrupts, ownership, placing

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
QUICK = ["-k", "2", "--window", "64", "--fixed-transform", "--no-report"]
NAMES = ["SIGINT", "SIGTERM", "SIGHUP"]
CODES = {"SIGINT": 1, "SIGTERM": 143, "SIGHUP": 129}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "song.wav", tones(2000))
    return tmp_path


def after(monkeypatch, owner, name, *signals):
    """Send signals to this process when a function has done its work the first time."""
    function, calls = getattr(owner, name), []

    def signalled(*given, **options):
        result = function(*given, **options)
        calls.append(1)
        if len(calls) == 1:
            for number in signals:
                signal.raise_signal(number)
        return result

    monkeypatch.setattr(owner, name, signalled)


def assert_whole(out):
    own, foreign = ownership.contents(out, os.listdir(out))
    assert set(own) == {*ownership.read(out).files, "result.json"}
    assert not foreign


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("owner", "where"), [(unmix_file, "learn"), (folder, "measure"), (phinmf.UnmixModel, "save")]
)
def test_a_signal_at_any_time_leaves_nothing(here, monkeypatch, capsys, name, owner, where):
    number = getattr(signal, name)
    before = {number: signal.getsignal(number) for number in interrupts.SIGNALS}
    after(monkeypatch, owner, where, *[number] * (2 if name == "SIGINT" else 1))
    assert main(["unmix", "song.wav", *QUICK]) == CODES[name]
    assert "no incomplete files remain" in capsys.readouterr().err
    assert [p.name for p in here.iterdir()] == ["song.wav"]
    assert {number: signal.getsignal(number) for number in interrupts.SIGNALS} == before


@pytest.mark.parametrize("name", NAMES)
def test_a_signal_between_the_two_renames_waits(here, monkeypatch, name):
    assert main(["unmix", "song.wav", *QUICK]) == 0
    number = getattr(signal, name)
    rename, seen = os.rename, []

    def signalled(source, target):
        rename(source, target)
        if str(target).endswith(placing.BEFORE):
            seen.append(os.path.exists("out/song"))
            signal.raise_signal(number)
            signal.raise_signal(number)

    monkeypatch.setattr(os, "rename", signalled)
    assert main(["unmix", "song.wav", *QUICK, "-k", "3", "--overwrite"]) in (0, CODES[name])
    assert seen == [False]
    assert [p.name for p in (here / "out").iterdir()] == ["song"]
    assert_whole(here / "out/song")
    assert (here / "out/song/component_03.wav").exists()


@pytest.mark.parametrize("name", NAMES)
def test_a_signal_while_groups_are_exchanged_waits(here, monkeypatch, name):
    assert main(["unmix", "song.wav", *QUICK, "--group", "a=1"]) == 0
    after(monkeypatch, os, "rename", getattr(signal, name))
    assert main(["unmix", "out/song", "--group", "b=1"]) == CODES[name]
    own = {"component_01.wav", "component_02.wav", "model.npz", "overview.npy", "result.json"}
    assert {p.name for p in (here / "out/song").iterdir()} == {*own, "b.wav", "rest.wav"}
    assert_whole(here / "out/song")
    assert [p.name for p in (here / "out").iterdir()] == ["song"]


def test_folders_that_were_there_stay(here, monkeypatch):
    (here / "a").mkdir()
    after(monkeypatch, folder, "measure", signal.SIGTERM)
    assert main(["unmix", "song.wav", *QUICK, "-o", "a/b/c"]) == 143
    assert [p.name for p in (here / "a").iterdir()] == []


def test_a_signal_that_is_ignored_stays_ignored(here):
    """As by nohup, and in scripts that run in the background."""
    code = (
        "import os, signal, sys\n"
        "from phinmf import unmix_file\n"
        "from phinmf.cli import main\n"
        "numbers = [signal.SIGHUP, signal.SIGINT]\n"
        "for number in numbers: signal.signal(number, signal.SIG_IGN)\n"
        "learn = unmix_file.learn\n"
        "def signalled(*given):\n"
        "    for number in numbers * 2: os.kill(os.getpid(), number)\n"
        "    return learn(*given)\n"
        "unmix_file.learn = signalled\n"
        f"sys.exit(main(['unmix', 'song.wav', *{QUICK}]))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=here).returncode == 0
    assert_whole(here / "out/song")


def test_the_first_signal_alone_ends_a_command():
    from phinmf.cli.signals import Ended, ended_by_signals

    with ended_by_signals():
        with pytest.raises(Ended, match="interrupted"):
            signal.raise_signal(signal.SIGINT)
        for name in NAMES:
            signal.raise_signal(getattr(signal, name))  # while what is half-written is removed


def test_a_signal_that_comes_where_exceptions_are_ignored_is_not_lost(capsys):
    import time

    from phinmf.cli.signals import Ended, ended_by_signals

    class Fleeting:
        def __del__(self):
            signal.raise_signal(signal.SIGTERM)

    with ended_by_signals():
        Fleeting()
        with pytest.raises(Ended, match="SIGTERM"):
            all(time.sleep(0.001) is None for _ in range(5000))
    assert capsys.readouterr().err == ""
