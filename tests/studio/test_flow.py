"""From a dropped file to what is heard, again and again."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
import sound_files
import soundfile
from studios import PATIENCE, idle, running, unmixed, waiting

from phinmf.errors import log_path
from phinmf.studio.discovery import discover
from phinmf.studio.listening import Listening
from phinmf.studio.requests import NotFound
from phinmf.unmixing import listing
from phinmf.unmixing.mix import Group, Level, Mix

DRUMS = [{"name": "drums", "colour": 5, "components": [1, 2]}]


def samples(answer, sources=4):
    """The sound of an answer: (sources, channels, n)."""
    return np.frombuffer(answer.body, "<f4").reshape(sources, 2, -1)


def test_a_dropped_file_becomes_a_version(studio, home, wav, version):
    (recording,) = studio.state["recordings"]
    assert (recording["id"], recording["name"], recording["title"]) == ("r1", "song.wav", "song")
    assert recording["about"] == "0:00.8 min, 8000 Hz, stereo, WAV PCM_16"
    assert recording["again"] is True
    expected = {
        "name": "Whole recording", "kind": "whole", "channels": 2, "length": 6000,
        "first_sample": 0, "sample_rate": 8000, "folder": str(home / "song/whole"),
        "adds_up": "the components add up to the recording bit for bit", "revision": 0,
        "groups": [], "levels": [{"gain_db": 0.0, "pan": 0.0, "muted": False}] * 3,
    }  # fmt: skip
    assert {name: version[name] for name in expected} == expected
    assert [one["number"] for one in version["components"]] == [1, 2, 3]
    assert all(0 < one["hertz"] < 4000 for one in version["components"])
    assert (home / "song/song.wav").read_bytes() == wav
    names = sorted(path.name for path in (home / "song").iterdir())
    assert names == ["song.wav", "studio.json", "whole"]


def test_sound_is_planar_and_adds_up(studio, home, version):
    got = studio.sound(100, 1000)
    assert got.status == 200
    heard = samples(got)
    written, _ = soundfile.read(home / "song/song.wav", dtype="float32")
    assert np.array_equal(heard[0], written[100:1100].T)
    first, _ = soundfile.read(home / "song/whole/component_01.wav", dtype="float32")
    assert np.array_equal(heard[1], first[100:1100].T)
    assert np.abs(heard[1:].sum(axis=0) - heard[0]).max() < 1e-6
    assert samples(studio.sound(5990, 1000)).shape == (4, 2, 10)
    assert studio.sound(6000, 5).body == b""


def test_no_thread_is_left_behind(home, wav):
    before = set(threading.enumerate())
    with running(home) as studio:
        studio.upload(wav)
        studio.until(idle)
        assert studio.sound(0, 10).status == 200
    assert not [t for t in threading.enumerate() if t.name.startswith("phinmf") and t not in before]


@pytest.mark.parametrize(
    "stretch", ["", "0", "-1/3", "a/3", "0/80001", "6001/1", "1e3/1", f"0/{'9' * 20}", "%D9%A3/1"]
)
def test_impossible_stretches_are_refused(studio, version, stretch):
    got = studio("GET", f"versions/v1/sound/{stretch}")
    assert got.status in (400, 404)
    assert got.json["error"]


def test_overview(studio, home, version):
    got = studio("GET", "versions/v1/overview")
    step = version["step"]
    peaks = np.frombuffer(got.body, np.uint8).reshape(4, -(-6000 // step))
    written, _ = soundfile.read(home / "song/song.wav")
    assert peaks[0, 0] == round(255 * np.sqrt(np.abs(written[:step]).max()))


def test_again_in_another_way(studio, version):
    studio.save(0, [{"name": "low", "colour": 3, "components": [1, 2, 3]}])
    got = studio.again(seed=5)
    assert (got.status, got.json) == (201, {"id": "j2"})
    ((_, again),) = studio.versions(studio.until(idle))
    assert (again["name"], again["kind"], again["seed"]) == ("Version 2", "whole", 5)
    assert (len(again["components"]), again["window"]) == (2, "16ms")
    assert again["groups"] == [{"name": "low", "colour": 3, "components": [1, 2]}]  # carried over
    assert studio.again(n_components="auto").status == 201
    assert len(studio.versions(studio.until(idle))[0]) == 3
    assert studio.session.library.version("v3").record.options["n_components"] == "auto"


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"n_components": 65}, "at most 64"),
        ({"n_components": "many"}, "n_components"),
        ({"window": "9s"}, "window"),
        ({"seed": -1}, "seed"),
        ({"n_components": True}, "does not know"),
        ({"seed": None}, "does not know"),
    ],
)
def test_what_cannot_be_unmixed_is_refused_at_once(studio, version, wanted, said):
    got = studio.again(**wanted)
    assert got.status == 400
    assert said in got.json["error"]
    assert idle(studio.state)


def test_a_version_that_somebody_moved_away_does_not_stop_new_ones(studio, home, version):
    studio.save(0, DRUMS)
    (home / "song/whole").rename(home / "song/elsewhere")
    assert studio.sound(0, 10).status == 404
    got = studio.save(1, DRUMS)
    assert (got.status, "whole" in got.json["error"]) == (400, True)
    assert studio.again().status == 201
    ((_, again),) = studio.versions(studio.until(idle))
    assert (again["name"], again["groups"]) == ("Version 2", [])


def test_sound_of_a_version_that_is_removed_before_it_is_opened(studio, version, monkeypatch):
    sound = Listening.sound

    def too_late(*arguments):
        with suppress(NotFound):
            studio.session.remove_version("v1")
        return sound(*arguments)

    monkeypatch.setattr(Listening, "sound", too_late)
    got = studio.sound(0, 10)
    assert got.status == 404
    assert "removed" in got.json["error"]


def test_a_version_that_is_being_read_is_removed_afterwards(studio, home, version, monkeypatch):
    with ThreadPoolExecutor() as pool, waiting(monkeypatch, Listening, "_read") as reading:
        heard = pool.submit(studio.sound, 0, 10)
        assert reading.wait(PATIENCE)
        removal = pool.submit(studio, "DELETE", "versions/v1")
        with pytest.raises(TimeoutError):
            removal.result(0.2)
        assert (home / "song/whole").exists()
    assert (heard.result().status, removal.result().status) == (200, 204)
    assert sorted(path.name for path in (home / "song").iterdir()) == ["song.wav", "studio.json"]
    assert studio.versions() == [[]]
    assert studio("DELETE", "versions/v1").status == 404


def test_a_version_with_a_file_of_the_user_is_not_removed(studio, home, version):
    (home / "song/whole/notes.txt").write_text("mine")
    got = studio("DELETE", "versions/v1")
    assert got.status == 409
    assert "notes.txt" in got.json["error"]
    assert (home / "song/whole/component_01.wav").exists()
    assert studio.versions() != [[]]


def test_a_folder_of_the_command_is_opened(home, tmp_path):
    folder = unmixed(tmp_path / "out/piece")
    with running(home, *discover(folder)) as studio:
        (recording,) = studio.state["recordings"]
        (version,) = recording["versions"]
        assert recording["name"] == "piece source.wav"
        assert recording["again"] is True  # it is beside the folder
        assert (version["name"], version["folder"]) == ("piece", str(folder))
        assert studio("DELETE", "versions/v1").status == 409
        levels = [{"gain_db": -6.0, "pan": -1.0, "muted": True}] * 3
        assert studio.save(0, DRUMS, levels).json == {"revision": 1}
        original = samples(studio.sound(0, 6000))
    assert listing.read(folder).mix == Mix(
        [Group("drums", [1, 2], 5)], [Level(-6.0, -1.0, True)] * 3, 1
    )
    assert not home.exists()  # nothing was written there
    (folder.parent / "piece source.wav").unlink()  # then the original is the sum
    with running(home, *discover(folder)) as studio:
        assert studio.state["recordings"][0]["again"] is False
        added = samples(studio.sound(0, 6000))
        assert studio.again().status == 409
    assert np.abs(original - added).max() < 1e-6


def test_a_file_is_read_where_it_is(home, tmp_path):
    path = sound_files.write(tmp_path / "here.flac")
    before = path.stat().st_mtime_ns
    for _ in range(2):  # the second studio shows the version and makes no other
        with running(home, *discover(path)) as studio:
            ((version,),) = studio.versions(studio.until(idle))
            assert version["kind"] == "whole"
    assert path.stat().st_mtime_ns == before
    assert sorted(p.name for p in (home / "here").iterdir()) == ["studio.json", "whole"]


def test_a_folder_of_recordings_and_versions_is_opened(home, tmp_path):
    unmixed(tmp_path / "out/piece")
    unmixed(tmp_path / "out/second", seed=1)
    sound_files.write(tmp_path / "out/other.wav")
    with running(home, *discover(tmp_path / "out")) as studio:
        state = studio.until(idle)
    names = [recording["name"] for recording in state["recordings"]]
    assert names == ["piece source.wav", "second source.wav", "other.wav"]
    assert [len(versions) for versions in studio.versions(state)] == [1, 1, 1]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("GET", "versions/v9/sound/0/1", None), ("GET", "versions/v9/overview", None),
     ("GET", "versions/v9/spectrogram/0/1", None), ("POST", "versions/v9/draft", {}),
     ("GET", "versions/v1/draft/sound/0/1", None), ("POST", "versions/v1/draft/versions", {}),
     ("DELETE", "versions/v9", None), ("DELETE", "jobs/j9", None), ("GET", "exports/e9", None),
     ("GET", "nothing.js", None), ("PUT", "versions/v9/mix", {"groups": [], "levels": []}),
     ("POST", "versions/v9/exports", {"kind": "mix"}), ("POST", "recordings/r9/versions", {})],
)  # fmt: skip
def test_what_does_not_exist_is_not_found(studio, version, method, path, body):
    how = {"revision": 0, "n_components": 2, "window": "40ms", "seed": 0}
    got = studio(method, path, None if body is None else how | body)
    assert got.status == 404
    assert got.json["error"]


def test_a_fault_is_logged_and_answered_with_an_apology(studio, monkeypatch):
    monkeypatch.setattr(studio.session, "cancel", lambda id: int("no words for a listener"))
    got = studio("DELETE", "jobs/j1")
    assert got.status == 500
    assert "fault of phinmf" in got.json["error"]
    assert "Traceback" in log_path().read_text()
