"""The folder of the studio: what others have put there survives everything."""

import errno
import http.client
import os
import random
import shutil
import signal
import sys
import threading
import time

import numpy as np
import pytest
import sound_files
from kept import everything
from studio_page import studio as command
from studios import idle, running

from phinmf.cli import main
from phinmf.studio import home as homes
from phinmf.studio.discovery import discover
from phinmf.studio.session import Session

GROUPS = [{"name": "the low ones", "colour": 1, "components": [1]}]


@pytest.fixture
def crowded(home):
    """A home that is full of somebody else's work, some of which looks like the studio's."""
    for name in ("song", "song/whole", "other", ".phinmf-mine", ".phinmf-studio-forged",
                 ".phinmf-studio-noted", ".phinmf-studio-", "kept", "kept/preview"):  # fmt: skip
        (home / name).mkdir(parents=True)
        (home / name / "mine.txt").write_text("mine")
    (home / "song.wav").write_text("no sound")
    (home / ".phinmf-studio-noted" / homes.LOCK).write_bytes(homes.content("another"))
    (home / "kept/studio.json").write_text('{"name": 3}')
    (home / "studio.json").write_text("{}")
    (home / "link").symlink_to(home / "other")
    (home / ".phinmf-studio-link").symlink_to(home / "other")
    (home / "dangling").symlink_to(home / "nowhere")
    return home


def test_the_work_of_others_survives(crowded, wav):
    before = everything(crowded)
    with running(crowded) as studio:
        for name in ("song.wav", "other.wav", "kept.wav", "studio.json", "Song.wav"):
            studio.upload(wav, name)
        versions = studio.versions(studio.until(idle))
        assert len(versions) == 5
        studio.upload(b"no sound", "x.wav")
        for (version,) in versions:
            studio("POST", f"versions/{version['id']}/exports", {"kind": "components"})
            assert studio("DELETE", f"versions/{version['id']}").status == 204
    after = everything(crowded)
    assert {name: after[name] for name in before} == before
    new = sorted({name.split("/")[0] for name in after if name not in before})
    assert new == ["Song 3", "kept 2", "other 2", "song 2", "studio"]


def test_links_are_not_followed(filled, tmp_path):
    outside = tmp_path / "outside"
    shutil.copytree(filled / "song", outside)
    shutil.rmtree(filled / "song/whole")
    (filled / "song/whole").symlink_to(outside / "whole")
    (filled / "linked").symlink_to(outside)
    (filled / "song/song.wav").unlink()
    (filled / "song/song.wav").symlink_to(outside / "song.wav")
    before = everything(outside)
    with running(filled) as studio:
        (recording,) = studio.state["recordings"]
        assert (recording["versions"], recording["again"]) == ([], False)
    assert everything(outside) == before


@pytest.mark.skipif(os.name == "nt", reason="there are no pipes in folders")
def test_pipes_are_not_read(filled):
    for folder, note in (("pipe", "studio.json"), (f"{homes.PREFIX}x", homes.LOCK)):
        (filled / folder).mkdir()
        os.mkfifo(filled / folder / note)
    with running(filled) as studio:
        assert len(studio.state["recordings"]) == 1
    assert (filled / "pipe/studio.json").is_fifo()


def test_versions_are_shown_although_their_recording_cannot_be_read(filled):
    (filled / "song/song.wav").write_bytes(b"no sound any more")
    session = Session(filled)
    try:
        (problem,) = session.open_home()
        (recording,) = session.state()["recordings"]
    finally:
        session.close()
    assert "song.wav cannot be read as sound" in problem
    assert (len(recording["versions"]), recording["again"]) == (1, False)


def test_another_recording_of_the_same_name_is_not_the_original(filled):
    sound_files.write(filled / "song/song.wav", sound_files.tones(9000, channels=4))
    with running(filled) as studio:
        sound = np.frombuffer(studio.sound(0, 10).body, "<f4").reshape(4, 2, 10)
    assert sound[0] == pytest.approx(sound[1:].sum(axis=0), abs=1e-6)


def test_a_folder_that_cannot_be_written_is_named(studio, home, wav, monkeypatch):
    def refused(folder):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), f"{folder}/hidden")

    monkeypatch.setattr(homes, "locked_folder", refused)
    assert studio.upload(wav).json["error"].startswith(f"{home} cannot be written (")


def test_a_damaged_version_is_left_out(filled):
    listing = filled / "song/whole/result.json"
    listing.write_text(listing.read_text()[:-20])
    before = everything(filled / "song/whole")
    with running(filled) as studio:
        ((version,),) = studio.versions(studio.until(idle))
    assert version["name"] == "Version 2"
    assert everything(filled / "song/whole") == before


def test_two_studios_in_one_folder_do_not_disturb_each_other(filled, wav):
    with running(filled) as first:
        made = first("POST", "versions/v1/exports", {"kind": "mix"}).json
        with running(filled) as second:
            assert len(second.state["recordings"]) == 1
            second.upload(wav)
            second.until(idle)
        assert first("GET", made["address"]).status == 200
    assert sorted(path.name for path in filled.iterdir()) == ["song", "song 2"]


def test_the_folder_of_another_studio_is_opened_wherever_it_was_moved(filled, tmp_path):
    with running(filled) as studio:
        studio.save(0, GROUPS)
    moved = filled.rename(tmp_path / "moved")
    twice = [*discover(moved), *discover(moved / "song")]
    with running(tmp_path / "other", *twice) as studio:
        assert studio("DELETE", "versions/v1").status == 409  # not in this home
        assert studio.again().status == 201
        state = studio.until(idle)
    assert state["recordings"][0]["name"] == "song.wav"
    (versions,) = studio.versions(state)
    folders = [str(moved / "song/whole"), str(tmp_path / "other/song/version-2")]
    assert [version["folder"] for version in versions] == folders
    assert versions[0]["groups"] == GROUPS
    assert os.listdir(tmp_path / "other") == ["song"]


# ---- the command ---------------------------------------------------------------------------------


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


def test_a_port_that_is_taken_and_an_extra_that_is_missing_are_named(studio, monkeypatch, capsys):
    assert main(["studio", "--port", str(studio.port), "--no-browser"]) == 1
    assert f"port {studio.port}" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "starlette", None)
    assert main(["studio"]) == 1
    assert 'pip install "phinmf[studio]"' in capsys.readouterr().err


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_leave_nothing_half_written(home, tmp_path, number):
    song = sound_files.write(tmp_path / "song.wav", sound_files.tones(400_000))
    bad = tmp_path / "bad.mp4"
    bad.write_text("no sound")
    with command(home, bad, song, tmp_path / "missing.wav") as program:
        program.until(lambda s: s["recordings"][0]["jobs"][0]["state"] == "running")
        time.sleep(0.3)
        status, said = program.end(number)
    assert status == (0 if number == signal.SIGINT else 128 + number)
    assert "bad.mp4 cannot be read as sound" in said  # which does not keep the others out
    assert "missing.wav does not exist" in said
    assert "Traceback" not in said
    names = everything(home) if home.exists() else []
    assert not any(name.startswith(".") for name in names)


@pytest.mark.full
def test_sigkill_at_random_moments(home, wav):
    """Whatever moment it is: what was answered as saved is there, and nothing half finished."""
    rng = random.Random()  # truly random: what holds must hold at any moment
    saved, uploaded = {}, 0
    for _ in range(8):
        with command(home) as program:
            end = time.monotonic() + rng.uniform(0.5, 6)
            recordings = program.versions()
            assert len(recordings) in (uploaded, uploaded + 1)  # one may be killed unanswered
            revisions = {one["folder"]: one["revision"] for each in recordings for one in each}
            for folder, revision in saved.items():
                assert revisions[folder] in (revision, revision + 1)
            assert len(list(home.glob(".*")) if home.exists() else []) <= 1
            killer = threading.Timer(end - time.monotonic(), program.process.kill)
            killer.start()
            try:
                while True:
                    program.upload(wav)
                    recordings = program.versions()
                    uploaded = len(recordings)
                    for version in [one for each in recordings for one in each]:
                        folder, revision = version["folder"], version["revision"]
                        saved.setdefault(folder, revision)
                        saved[folder] = program.save(revision, id=version["id"]).json["revision"]
            except (OSError, http.client.HTTPException, StopIteration, ValueError):
                pass  # it was killed
            killer.join()
    with command(home) as program:
        recordings = program.state["recordings"]
        assert all(one["versions"] or one["jobs"] for one in recordings)  # which begin again
        assert program.end(signal.SIGINT)[0] == 0
    for folder in home.iterdir():
        names = {path.name for path in folder.iterdir()}
        assert {"studio.json", "song.wav"} <= names
        assert names <= {"studio.json", "song.wav", "whole"}
