"""From a dropped file to what is heard, again and again."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
import sound_files
import soundfile
from studios import PATIENCE, idle, running, unmixed, waiting

from phinmf.errors import log_path
from phinmf.studio import session
from phinmf.studio.discovery import discover
from phinmf.studio.listening import Listening, OpenTake
from phinmf.studio.requests import NotFound
from phinmf.unmixing import ownership

MIX = {"revision": 0, "groups": [{"name": "drums", "components": [1]}], "levels": []}


def test_a_dropped_file_becomes_a_take(studio, home, wav, take):
    (recording,) = studio.state["recordings"]
    assert (recording["id"], recording["name"], recording["title"]) == ("r1", "song.wav", "song")
    assert recording["about"] == "0:00.8 min, 8000 Hz, stereo, WAV PCM_16"
    assert recording["again"] is True
    assert (take["name"], take["kind"], take["channels"]) == ("Whole recording", "whole", 2)
    assert (take["length"], take["first_sample"], take["sample_rate"]) == (6000, 0, 8000)
    assert take["adds_up"] == "the components add up to the recording bit for bit"
    assert take["folder"] == str(home / "song/whole")
    assert [one["number"] for one in take["components"]] == [1, 2, 3]
    assert all(0 < one["hertz"] < 4000 for one in take["components"])
    assert take["levels"] == [{"gain_db": 0.0, "pan": 0.0, "muted": False}] * 3
    assert (take["revision"], take["groups"]) == (0, [])
    assert (home / "song/song.wav").read_bytes() == wav
    assert sorted(path.name for path in (home / "song").iterdir()) == [
        "song.wav", "studio.json", "whole",
    ]  # fmt: skip


def test_sound_is_planar_and_adds_up(studio, home, take):
    got = studio("GET", "takes/t1/sound?start=100&count=1000")
    assert (got.status, got.headers["x-count"]) == (200, "1000")
    heard = np.frombuffer(got.body, "<f4").reshape(4, 2, 1000)
    written, _ = soundfile.read(home / "song/song.wav", dtype="float32")
    assert np.array_equal(heard[0], written[100:1100].T)
    first, _ = soundfile.read(home / "song/whole/component_01.wav", dtype="float32")
    assert np.array_equal(heard[1], first[100:1100].T)
    assert np.abs(heard[1:].sum(axis=0) - heard[0]).max() < 1e-6


def test_sound_ends_with_the_take(studio, take):
    got = studio("GET", "takes/t1/sound?start=5990&count=1000")
    assert (got.headers["x-count"], len(got.body)) == ("10", 4 * 2 * 10 * 4)
    assert studio("GET", "takes/t1/sound?start=6000&count=5").headers["x-count"] == "0"


@pytest.mark.parametrize(
    "query",
    ["", "start=0", "start=-1&count=3", "start=a&count=3", "start=0&count=80001",
     "start=6001&count=1", "start=1e3&count=1", "start=0&count=99999999999999999999",
     "start=٣&count=1"],
)  # fmt: skip
def test_impossible_stretches_are_refused(studio, take, query):
    got = studio("GET", "takes/t1/sound?" + query.replace("٣", "%D9%A3"))
    assert got.status == 400
    assert got.json["error"]


def test_overview(studio, home, take):
    got = studio("GET", "takes/t1/overview")
    bins, step = int(got.headers["x-bins"]), int(got.headers["x-step"])
    assert bins == -(-6000 // step)
    peaks = np.frombuffer(got.body, np.uint8).reshape(4, bins)
    written, _ = soundfile.read(home / "song/song.wav")
    first = np.abs(written[:step]).max()
    assert peaks[0, 0] == round(255 * np.sqrt(first))


def test_a_long_recording_begins_with_a_preview(studio, wav, monkeypatch):
    monkeypatch.setattr(session, "LONG", 0.5)
    monkeypatch.setattr(session, "PREVIEW_SECONDS", 0.25)
    studio.upload(wav)
    preview, whole = studio.until(idle)["recordings"][0]["takes"]
    assert (preview["name"], preview["kind"], preview["length"]) == ("Preview", "preview", 2000)
    assert preview["first_sample"] == 2000
    assert (whole["name"], whole["kind"], whole["length"]) == ("Whole recording", "whole", 6000)
    heard = studio("GET", f"takes/{preview['id']}/sound?start=0&count=10").body
    same = studio("GET", f"takes/{whole['id']}/sound?start=2000&count=10").body
    assert heard[:80] == same[:80]


def test_again_in_another_way(studio, take):
    wanted = {"n_components": 2, "window": "16ms", "seed": 5, "carry_from": "t1"}
    groups = [{"name": "low", "colour": 3, "components": [1, 2, 3]}]
    studio("PUT", "takes/t1/mix", {"revision": 0, "groups": groups, "levels": []})
    got = studio("POST", "recordings/r1/takes", wanted)
    assert (got.status, got.json) == (201, {"id": "j2"})
    _, again = studio.until(idle)["recordings"][0]["takes"]
    assert (again["name"], again["kind"], again["seed"]) == ("Take 2", "whole", 5)
    assert (again["n_components"], again["window"]) == (2, "16ms")
    assert again["groups"] == [{"name": "low", "colour": 3, "components": [1, 2]}]


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"n_components": 65, "window": "40ms", "seed": 0}, "at most 64"),
        ({"n_components": 0, "window": "40ms", "seed": 0}, "n_components"),
        ({"n_components": "many", "window": "40ms", "seed": 0}, "n_components"),
        ({"n_components": 2, "window": "long", "seed": 0}, "window"),
        ({"n_components": 2, "window": "9s", "seed": 0}, "window"),
        ({"n_components": 2, "window": "40ms", "seed": -1}, "seed"),
        ({"n_components": True, "window": "40ms", "seed": 0}, "does not know"),
        ({"n_components": 2, "window": "40ms"}, "does not know"),
    ],
)
def test_what_cannot_be_unmixed_is_refused_at_once(studio, take, wanted, said):
    got = studio("POST", "recordings/r1/takes", wanted)
    assert got.status == 400
    assert said in got.json["error"]
    assert idle(studio.state)


def test_automatic_number_of_components(studio, take, monkeypatch):
    wanted = {"n_components": "auto", "window": "16ms", "seed": 0}
    assert studio("POST", "recordings/r1/takes", wanted).status == 201
    assert studio.until(idle)["recordings"][0]["takes"][1]["n_components"] == "auto"


def test_groups_are_not_carried_over_from_another_recording(studio, take, wav):
    studio.upload(wav, "other.wav")
    other = studio.until(idle)["recordings"][1]
    wanted = {"n_components": 2, "window": "64", "seed": 1, "carry_from": "t1"}
    got = studio("POST", f"recordings/{other['id']}/takes", wanted)
    assert (got.status, "same recording" in got.json["error"]) == (400, True)


def test_a_take_that_somebody_moved_away_does_not_stop_new_ones(studio, home, take):
    studio("PUT", "takes/t1/mix", MIX)
    (home / "song/whole").rename(home / "song/elsewhere")
    wanted = {"n_components": 2, "window": "64", "seed": 1, "carry_from": "t1"}
    assert studio("POST", "recordings/r1/takes", wanted).status == 201
    takes = studio.until(idle)["recordings"][0]["takes"]
    assert [(take["name"], take["groups"] == []) for take in takes] == [
        ("Whole recording", False), ("Take 2", True),
    ]  # fmt: skip


def test_a_take_is_removed(studio, home, take):
    studio("GET", "takes/t1/sound?start=0&count=10")
    assert studio("DELETE", "takes/t1").status == 204
    assert studio.state["recordings"][0]["takes"] == []
    assert sorted(path.name for path in (home / "song").iterdir()) == ["song.wav", "studio.json"]
    assert studio("DELETE", "takes/t1").status == 404


def test_sound_of_a_take_that_is_removed_before_its_files_are_opened(studio, take, monkeypatch):
    sound = Listening.sound

    def too_late(*arguments):
        with suppress(NotFound):
            studio.session.remove_take("t1")
        return sound(*arguments)

    monkeypatch.setattr(Listening, "sound", too_late)
    got = studio("GET", "takes/t1/sound?start=0&count=10")
    assert got.status == 404
    assert "removed" in got.json["error"]


def test_a_take_that_is_being_read_is_removed_afterwards(studio, home, take, monkeypatch):
    with ThreadPoolExecutor() as pool, waiting(monkeypatch, OpenTake, "sound") as reading:
        heard = pool.submit(studio, "GET", "takes/t1/sound?start=0&count=10")
        assert reading.wait(PATIENCE)
        removal = pool.submit(studio, "DELETE", "takes/t1")
        with pytest.raises(TimeoutError):
            removal.result(0.2)
        assert (home / "song/whole").exists()
    assert (heard.result().status, removal.result().status) == (200, 204)
    assert not (home / "song/whole").exists()


def test_sound_of_a_take_that_somebody_moved_away(studio, home, take):
    (home / "song/whole").rename(home / "song/elsewhere")
    assert studio("GET", "takes/t1/sound?start=0&count=10").status == 404


def test_a_take_with_a_file_of_the_user_is_not_removed(studio, home, take):
    (home / "song/whole/notes.txt").write_text("mine")
    got = studio("DELETE", "takes/t1")
    assert got.status == 409
    assert "notes.txt" in got.json["error"]
    assert (home / "song/whole/component_01.wav").exists()
    assert studio.state["recordings"][0]["takes"]


@pytest.fixture
def folder(tmp_path):
    return unmixed(tmp_path / "out/piece")


def test_a_folder_of_the_command_is_opened(home, folder):
    with running(home, *discover(folder)) as studio:
        (recording,) = studio.state["recordings"]
        (take,) = recording["takes"]
        assert recording["name"] == "piece source.wav"
        assert recording["again"] is True  # it is beside the folder
        assert (take["name"], take["folder"]) == ("piece", str(folder))
        assert studio("DELETE", "takes/t1").status == 409
        groups = [{"name": "a", "colour": 0, "components": [1]}]
        got = studio("PUT", "takes/t1/mix", {"revision": 0, "groups": groups, "levels": []})
        assert got.json == {"revision": 1}
    assert ownership.read(folder).mix.groups[0].name == "a"
    assert not home.exists()  # nothing was written there


def test_without_its_recording_the_original_is_the_sum(home, folder):
    recording = folder.parent / "piece source.wav"
    with running(home, *discover(folder)) as studio:
        original = studio("GET", "takes/t1/sound?start=0&count=6000").body
    recording.unlink()
    with running(home, *discover(folder)) as studio:
        assert studio.state["recordings"][0]["again"] is False
        added = studio("GET", "takes/t1/sound?start=0&count=6000").body
        wanted = {"n_components": 2, "window": "16ms", "seed": 0}
        assert studio("POST", "recordings/r1/takes", wanted).status == 409
    difference = np.frombuffer(original, "<f4") - np.frombuffer(added, "<f4")
    assert np.abs(difference).max() < 1e-6


def test_a_file_is_read_where_it_is(home, tmp_path):
    path = sound_files.write(tmp_path / "here.flac")
    before = path.stat().st_mtime_ns
    for _ in range(2):  # the second studio shows the take and makes no other
        with running(home, *discover(path)) as studio:
            (recording,) = studio.until(idle)["recordings"]
            assert [take["kind"] for take in recording["takes"]] == ["whole"]
    assert path.stat().st_mtime_ns == before
    assert sorted(p.name for p in (home / "here").iterdir()) == ["studio.json", "whole"]


def test_a_folder_of_recordings_and_takes_is_opened(home, tmp_path, folder):
    sound_files.write(folder.parent / "other.wav")
    unmixed(folder.parent / "second", seed=1)
    with running(home, *discover(folder.parent)) as studio:
        recordings = studio.until(idle)["recordings"]
        assert [recording["name"] for recording in recordings] == [
            "piece source.wav", "second source.wav", "other.wav",
        ]  # fmt: skip


def test_everything_is_there_after_a_restart(home, wav, monkeypatch):
    monkeypatch.setattr(session, "LONG", 0.5)
    monkeypatch.setattr(session, "PREVIEW_SECONDS", 0.25)
    groups = [{"name": "drums", "colour": 5, "components": [2, 1]}]
    levels = [{"gain_db": -3.0, "pan": 0.5, "muted": False}] * 3
    with running(home) as studio:
        for name in ("b.wav", "a.wav"):
            studio.upload(wav, name)
        studio.until(idle)
        take = studio.state["recordings"][0]["takes"][1]
        mix = {"revision": 0, "groups": groups, "levels": levels}
        studio("PUT", f"takes/{take['id']}/mix", mix)
        before = studio.state["recordings"]
    for _ in range(2):
        with running(home, *discover(home / "b")) as studio:
            after = studio.until(idle)["recordings"]
        assert [one["name"] for one in after] == ["b.wav", "a.wav"]
        known = ("folder", "groups", "levels", "revision", "kind", "name", "components")
        for one, other in zip(before, after, strict=True):
            assert [{k: take[k] for k in known} for take in one["takes"]] == [
                {k: take[k] for k in known} for take in other["takes"]
            ]
    assert after[0]["takes"][1]["groups"] == groups
    assert after[0]["takes"][1]["levels"] == levels


def test_unknown_ids_are_not_found(studio, take):
    for method, path in (
        ("GET", "takes/t9/sound?start=0&count=1"), ("GET", "takes/t9/overview"),
        ("DELETE", "takes/t9"), ("DELETE", "jobs/j9"), ("GET", "exports/e9"), ("GET", "nothing.js"),
    ):  # fmt: skip
        got = studio(method, path)
        assert got.status == 404
        assert got.json["error"]
    assert studio("PUT", "takes/t9/mix", {"revision": 0, "groups": [], "levels": []}).status == 404
    assert studio("POST", "takes/t9/exports", {"kind": "mix"}).status == 404
    wanted = {"n_components": 2, "window": "40ms", "seed": 0}
    assert studio("POST", "recordings/r9/takes", wanted).status == 404
    assert studio("POST", "recordings/r1/takes", {**wanted, "carry_from": "t9"}).status == 404
    assert studio("PATCH", "takes/t1").status == 405


@pytest.mark.parametrize("fault", [ValueError, KeyError])
def test_a_fault_is_logged_and_answered_with_an_apology(studio, monkeypatch, fault):
    def fail(id):
        raise fault("no words for a listener")

    monkeypatch.setattr(studio.session, "cancel", fail)
    got = studio("DELETE", "jobs/j1")
    assert got.status == 500
    assert "fault of phinmf" in got.json["error"]
    assert "Traceback" in log_path().read_text()
