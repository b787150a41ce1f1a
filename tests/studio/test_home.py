"""The folder of the studio: what others have put there survives everything."""

import errno
import http.client
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import sound_files
from kept import everything
from studios import PATIENCE, Client, idle, running

from phinmf.cli import main
from phinmf.studio import scratch
from phinmf.studio.discovery import discover
from phinmf.studio.session import Session
from phinmf.unmixing import ownership


@pytest.fixture
def crowded(home):
    """A home that is full of somebody else's work, some of which looks like the studio's."""
    for name in ("song", "song/whole", "other", ".phinmf-mine", ".phinmf-studio-forged",
                 ".phinmf-studio-noted", ".phinmf-studio-", "kept", "kept/preview"):  # fmt: skip
        (home / name).mkdir(parents=True)
        (home / name / "mine.txt").write_text("mine")
    (home / "song.wav").write_text("no sound")
    (home / ".phinmf-studio-noted" / scratch.LOCK).write_bytes(scratch.content("another"))
    (home / "kept/studio.json").write_text('{"name": 3}')
    (home / "studio.json").write_text("{}")
    (home / "link").symlink_to(home / "other")
    (home / ".phinmf-studio-link").symlink_to(home / "other")
    (home / "dangling").symlink_to(home / "nowhere")
    return home


def test_the_work_of_others_survives(crowded, wav):
    before = everything(crowded)
    with running(crowded) as studio:
        for name in ("song.wav", "other.wav", "kept.wav", "studio.json"):
            studio.upload(wav, name)
        state = studio.until(idle)
        assert len(state["recordings"]) == 4
        studio.upload(b"no sound", "x.wav")
        for recording in state["recordings"]:
            (take,) = recording["takes"]
            studio("POST", f"takes/{take['id']}/exports", {"kind": "components"})
            assert studio("DELETE", f"takes/{take['id']}").status == 204
    after = everything(crowded)
    assert {name: after[name] for name in before} == before
    assert sorted({name.split("/")[0] for name in after if name not in before}) == [
        "kept 2", "other 2", "song 2", "studio",
    ]  # fmt: skip


def test_links_are_not_followed(home, wav, tmp_path):
    with running(home) as studio:
        studio.upload(wav)
        studio.until(idle)
    outside = tmp_path / "outside"
    shutil.copytree(home / "song", outside)
    shutil.rmtree(home / "song/whole")
    (home / "song/whole").symlink_to(outside / "whole")
    (home / "linked").symlink_to(outside)
    (home / "song/song.wav").unlink()
    (home / "song/song.wav").symlink_to(outside / "song.wav")
    before = everything(outside)
    with running(home) as studio:
        (recording,) = studio.state["recordings"]
        assert (recording["takes"], recording["again"]) == ([], False)
    assert everything(outside) == before


@pytest.mark.skipif(os.name == "nt", reason="there are no pipes in folders")
def test_pipes_are_not_read(home, wav):
    with running(home) as studio:
        studio.upload(wav)
        studio.until(idle)
    for folder, note in (("pipe", "studio.json"), (f"{scratch.PREFIX}x", scratch.LOCK)):
        (home / folder).mkdir()
        os.mkfifo(home / folder / note)
    with running(home) as studio:
        assert len(studio.state["recordings"]) == 1
    assert (home / "pipe/studio.json").is_fifo()


def test_takes_are_shown_although_their_recording_cannot_be_read(home, wav):
    with running(home) as studio:
        studio.upload(wav)
        studio.until(idle)
    (home / "song/song.wav").write_bytes(b"no sound any more")
    session = Session(home)
    try:
        (problem,) = session.open_home()
        (recording,) = session.state()["recordings"]
    finally:
        session.close()
    assert "song.wav cannot be read as sound" in problem
    assert (len(recording["takes"]), recording["again"]) == (1, False)


def test_another_recording_of_the_same_name_is_not_the_original(home, wav):
    with running(home) as studio:
        studio.upload(wav)
        studio.until(idle)
    sound_files.write(home / "song/song.wav", sound_files.tones(9000, channels=4))
    with running(home) as studio:
        got = studio("GET", "takes/t1/sound?start=0&count=10")
    sound = np.frombuffer(got.body, "<f4").reshape(4, 2, 10)
    assert sound[0] == pytest.approx(sound[1:].sum(axis=0), abs=1e-6)


def test_a_folder_that_cannot_be_written_is_named(studio, home, wav, monkeypatch):
    def refused(folder):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), f"{folder}/hidden")

    monkeypatch.setattr(scratch, "made_in", refused)
    said = studio.upload(wav).json["error"]
    assert said.startswith(f"{home} cannot be written (")


def test_a_damaged_take_is_left_out(home, wav):
    with running(home) as studio:
        studio.upload(wav)
        studio.until(idle)
    listing = home / "song/whole/result.json"
    listing.write_text(listing.read_text()[:-20])
    before = everything(home / "song/whole")
    with running(home) as studio:
        (recording,) = studio.until(idle)["recordings"]
        assert [take["name"] for take in recording["takes"]] == ["Take 2"]
    assert everything(home / "song/whole") == before


def test_two_studios_in_one_folder_do_not_disturb_each_other(home, wav):
    with running(home) as first:
        first.upload(wav)
        first.until(idle)
        made = first("POST", "takes/t1/exports", {"kind": "mix"}).json
        with running(home) as second:
            assert len(second.state["recordings"]) == 1
            second.upload(wav)
            second.until(idle)
        assert first("GET", made["address"]).status == 200
    names = sorted(path.name for path in home.iterdir())
    assert names == ["song", "song 2"]


class Program:
    """The command in a process of its own, which never outlives its test."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def __init__(self, home, *given):
        command = [sys.executable, "-m", "phinmf", "studio", "--no-browser", "-o", home, *given]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        self.client = Client(re.search(r"http://\S+", line)[0])

    def end(self, number):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=PATIENCE)
        return out, err, self.process.returncode


@pytest.mark.full
def test_killed_in_the_middle_of_its_work(tmp_path):
    home = tmp_path / "home"
    song = sound_files.write(tmp_path / "short.wav")
    long = sound_files.write(tmp_path / "long.wav", sound_files.tones(800_000))
    groups = [{"name": "kept", "colour": 0, "components": [1]}]
    mix = {"revision": 0, "groups": groups, "levels": []}
    with Program(home, song) as program:
        client = program.client
        client.until(idle)
        assert client("PUT", "takes/t1/mix", mix).status == 200
        assert client("POST", "takes/t1/exports", {"kind": "components"}).status == 201
        client.upload(long.read_bytes(), "long.wav")
        client.until(lambda s: len(s["recordings"]) == 2 and s["recordings"][1]["jobs"][0]["share"])
        program.end(signal.SIGKILL)
    left = [path.name for path in home.iterdir() if path.name.startswith(".")]
    assert len(left) == 1  # what was not finished
    with Program(home) as program:
        state = program.client.state
        assert not (home / left[0]).exists()
        assert [one["name"] for one in state["recordings"]] == ["short.wav", "long.wav"]
        assert state["recordings"][0]["takes"][0]["groups"] == groups
        assert state["recordings"][1]["jobs"]  # it begins again
        out, err, status = program.end(signal.SIGINT)
    assert (err, status) == ("", 0)
    assert "The studio has ended" in out
    assert sorted(path.name for path in home.iterdir()) == ["long", "short"]
    assert [path.name for path in (home / "short").iterdir() if path.is_dir()] == ["whole"]


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_leave_nothing_half_written(tmp_path, number):
    home = tmp_path / "home"
    song = sound_files.write(tmp_path / "song.wav", sound_files.tones(400_000))
    with Program(home, song) as program:
        program.client.until(lambda s: s["recordings"][0]["jobs"][0]["state"] == "running")
        time.sleep(0.3)
        _, err, status = program.end(number)
    assert status == (0 if number == signal.SIGINT else 128 + number)
    assert "Traceback" not in err
    names = [str(p.relative_to(home)) for p in home.rglob("*")] if home.exists() else []
    assert not any(name.startswith(".") for name in names)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["missing.wav"], "missing.wav does not exist"),
        (["empty"], "empty has no sound files"),
        (["bad.wav"], "bad.wav cannot be read as sound"),
        (["broken"], "broken is not a folder that phinmf unmix has written"),
        (["-o", "bad.wav"], "bad.wav is a file"),
    ],
)
def test_bad_inputs_are_refused_before_the_studio_opens(tmp_path, monkeypatch, capsys, given, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/result.json").write_text("{}")
    (tmp_path / "bad.wav").write_text("no sound")
    before = everything(tmp_path)
    assert main(["studio", "--no-browser", *given]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert everything(tmp_path) == before


@pytest.mark.full
def test_a_bad_input_does_not_keep_the_others_out(tmp_path):
    song = sound_files.write(tmp_path / "song.wav")
    bad = tmp_path / "bad.mp4"
    bad.write_text("no sound")
    with Program(tmp_path / "home", bad, song, tmp_path / "missing.wav") as program:
        assert [one["name"] for one in program.client.state["recordings"]] == ["song.wav"]
        _, err, status = program.end(signal.SIGINT)
    refused, missing = err.splitlines()
    assert "bad.mp4 cannot be read as sound" in refused
    assert "missing.wav does not exist" in missing
    assert status == 0


def test_without_the_extra_the_command_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "starlette", None)
    assert main(["studio"]) == 1
    assert 'pip install "phinmf[studio]"' in capsys.readouterr().err


def test_a_port_that_is_taken(home, capsys, studio):
    assert main(["studio", "--port", str(studio.port), "--no-browser", "-o", str(home)]) == 1
    assert f"port {studio.port}" in capsys.readouterr().err


def test_found_at_the_folder_of_another_studio(home, wav, tmp_path):
    with running(home) as studio:
        studio.upload(wav)
        studio.until(idle)
    (one,) = discover(home)
    assert (one.name, one.file) == ("song.wav", home / "song/song.wav")
    assert one.takes == [home / "song/whole"]
    with running(tmp_path / "other", *discover(home)) as studio:
        wanted = {"n_components": 2, "window": "16ms", "seed": 0}
        assert studio("POST", "recordings/r1/takes", wanted).status == 201
        folders = [take["folder"] for take in studio.until(idle)["recordings"][0]["takes"]]
    assert folders == [str(home / "song/whole"), str(tmp_path / "other/song/take-2")]
    assert os.listdir(tmp_path / "other") == ["song"]


@pytest.mark.full
def test_sigkill_at_random_moments(tmp_path):
    """Whatever moment it is: what was answered as saved is there, and nothing half finished."""
    home = tmp_path / "home"
    wav = sound_files.write(tmp_path / "a.wav", sound_files.tones(50_000)).read_bytes()
    rng = random.Random()  # truly random: what holds must hold at any moment
    saved, uploaded, finished = {}, 0, set()
    for _ in range(8):
        with Program(home) as program:
            client, end = program.client, time.monotonic() + rng.uniform(0.5, 6)
            known = client.state["recordings"]
            assert len(known) in (uploaded, uploaded + 1)  # one may have been killed unanswered
            takes = {take["folder"]: take for one in known for take in one["takes"]}
            assert finished <= takes.keys()
            for folder, revision in saved.items():
                assert takes[folder]["revision"] in (revision, revision + 1)
            assert len(list(home.glob(".*")) if home.exists() else []) <= 1
            killer = threading.Timer(end - time.monotonic(), program.process.kill)
            killer.start()
            try:
                while True:
                    client.upload(wav)
                    uploaded = len(client.state["recordings"])
                    for one in client.state["recordings"]:
                        for take in one["takes"]:
                            finished.add(take["folder"])
                            mix = {"revision": take["revision"], "groups": [], "levels": []}
                            got = client("PUT", f"takes/{take['id']}/mix", mix).json
                            saved[take["folder"]] = got["revision"]
            except (OSError, http.client.HTTPException, StopIteration, ValueError):
                pass  # it was killed
            killer.join()
    with Program(home) as program:
        program.end(signal.SIGINT)
    for folder in home.iterdir():
        names = {path.name for path in folder.iterdir()}
        assert {"studio.json", "song.wav"} <= names
        assert names <= {"studio.json", "song.wav", "whole"}


def test_the_page_of_a_folder_shows_its_groups_when_the_studio_has_ended(tmp_path):
    song = sound_files.write(tmp_path / "song.wav", sound_files.tones(6000))
    how = ["-k", "2", "--window", "64", "--max-time", "1", "--quiet", "-o", str(tmp_path / "out")]
    assert main(["unmix", str(song), *how]) == 0
    folder = tmp_path / "out/song"
    before = (folder / "report.html").read_text()
    with running(tmp_path / "home", *discover(folder)) as studio:
        groups = [{"name": "the low ones", "colour": 1, "components": [1]}]
        asked = {"revision": 0, "groups": groups, "levels": []}
        assert studio("PUT", "takes/t1/mix", asked).status == 200
        assert (folder / "report.html").read_text() == before
    assert "the low ones" not in before
    assert "the low ones" in (folder / "report.html").read_text()
    ownership.check_replaceable(folder)
