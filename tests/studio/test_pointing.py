"""Point at it: marks that are saved, refused, learned from, heard and kept."""

import numpy as np
import pytest
import soundfile
from studios import idle, running

from phinmf.studio.discovery import discover
from phinmf.unmixing import marks as marking
from phinmf.unmixing.groups import marks_of
from phinmf.unmixing.marks import Box, Stroke
from phinmf.unmixing.spectrogram import ROWS

PAIR = [{"name": "pair", "colour": 4, "components": [1, 2]}]
EARLY = {"group": "pair", "start": 0.0, "end": 0.25}
LATE = {"group": "rest", "start": 0.3, "end": 0.5, "low": 100.0}
WIDTH = {"seconds": 0.05, "octaves": 0.5}
STROKE = {"group": "pair", "points": [[0.1, 900.0], [0.2, 950.0]]} | WIDTH


def marks(*marks, new=(), **more):
    return {"sample_rate": 8000, "length": 6000, "new": list(new), "marks": list(marks)} | more


def heard(studio, start, count, id="v1"):
    got = studio("GET", f"versions/{id}/draft/sound/{start}/{count}")
    assert got.status == 200, got.body
    return np.frombuffer(got.body, "<f4").reshape(-1, 2, count)


def test_marks_are_saved_shown_again_and_won_by_one_tab(studio, home, version):
    assert version["marks"] == marks()
    assert studio.save(0, PAIR, marks=marks(EARLY, STROKE)).json == {"revision": 1}
    assert marks_of(home / "song/whole").marks == [Box("pair", 0.0, 0.25), Stroke(**STROKE)]
    got = studio.save(0, PAIR, marks=marks(LATE))
    assert got.status == 409
    assert len(got.json["marks"]["marks"]) == 2
    assert studio.save(1, PAIR).status == 200  # without marks they are as they were
    assert len(studio.versions()[0][0]["marks"]["marks"]) == 2
    assert studio.save(2, [], marks=marks()).status == 200
    assert marks_of(home / "song/whole").marks == []


def test_marks_are_there_after_the_studio_ended(filled):
    with running(filled) as studio:
        studio.save(0, PAIR, marks=marks(EARLY, STROKE))
    with running(filled) as studio:
        ((version,),) = studio.versions()
        assert [mark["group"] for mark in version["marks"]["marks"]] == ["pair", "pair"]
        assert version["marks"]["marks"][1] == STROKE


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (marks({"group": "voice", "start": 0, "end": 0.5}), "'voice', but the groups are pair"),
        (marks({"group": "pair", "start": 0, "end": 9}), "mark 1 reaches 9 s"),
        (marks({"group": "pair", "start": 0.3, "end": 0.2}), "the second must be larger"),
        (marks(EARLY, {"group": "pair", "low": 5000, "high": 5001}), "mark 2 reaches"),
        (marks(EARLY, sample_rate=44_100), "the recording has 0.13"),
        (marks(EARLY, length=6001), "6001 samples"),
        (marks(EARLY, new=["a/b"]), "cannot have on every disk"),
        (marks({"group": 3}), "mark 1"),
        (marks({"group": "pair", "points": []} | WIDTH), "points are needed"),
        (marks("everything"), "mark 1"),
        (marks() | {"marks": {}}, "a list of marks"),
        ([], "marks are not"),
        (marks(*[EARLY] * 3000, {"group": "x"}), "'x'"),
    ],
)
def test_bad_marks_are_refused_before_anything_is_saved(studio, home, version, sent, said):
    got = studio.save(0, PAIR, marks=sent)
    assert (400 <= got.status < 500, said in got.json["error"]) == (True, True), got.body
    assert (studio.versions()[0][0]["revision"], (home / "song/whole/marks.json").exists()) == (
        0, False,
    )  # fmt: skip


def test_huge_lists_are_refused(studio, version, monkeypatch):
    monkeypatch.setattr(marking, "MOST_POINTS", 9)
    got = studio.save(0, PAIR, marks=marks(*[EARLY] * 5))
    assert (got.status, "more than 9 points" in got.json["error"]) == (400, True)


@pytest.mark.parametrize(
    ("groups", "sent", "said"),
    [
        (PAIR, marks(), "no mark yet"),
        ([], marks({"group": "rest"}), "make two of them"),
        (PAIR, marks({"group": "new", "silent": True}, new=["new"]), "where the new group"),
        (PAIR, marks(*[{"group": f"g{i}"} for i in range(20)], new=[f"g{i}" for i in range(20)]),
         "which makes 83"),
    ],
)  # fmt: skip
def test_what_cannot_be_learned_is_refused_before_anything_is(
    studio, version, monkeypatch, groups, sent, said
):
    monkeypatch.setattr("phinmf.studio.pointing.refine", None)
    assert studio.save(0, groups, marks=sent).status == 200
    got = studio("POST", "versions/v1/draft", {})
    assert (got.status, said in got.json["error"]) == (400, True), got.body


def test_what_was_learned_is_heard_and_kept(studio, home, version):
    studio.save(0, PAIR, marks=marks(EARLY, {"group": "bell", "start": 0.3, "end": 0.5},
                                     new=["bell"]))  # fmt: skip
    assert studio("POST", "versions/v1/draft", {}).json == {"groups": ["pair", "bell", "rest"]}
    whole, _ = soundfile.read(home / "song/song.wav", dtype="float32", always_2d=True)
    sounds = heard(studio, 1000, 2000)
    assert sounds.shape[0] == 4
    np.testing.assert_allclose(sounds[0], whole[1000:3000].T, atol=1e-6)
    np.testing.assert_allclose(sounds[1:].sum(axis=0), sounds[0], atol=1e-6)
    pieces = [heard(studio, start, 500) for start in range(1000, 3000, 500)]  # as a player asks
    np.testing.assert_allclose(np.concatenate(pieces, axis=2), sounds, atol=1e-4)
    assert studio("GET", "versions/v1/draft/sound/6000/9").body == b""

    got = studio("POST", "versions/v1/draft/versions", {})
    assert got.status == 201
    ((before, after),) = studio.versions(studio.until(idle))
    assert before["groups"] == PAIR
    assert [group["name"] for group in after["groups"]] == ["pair", "bell"]
    assert [group["colour"] for group in after["groups"]] == [4, 0]
    assert len(after["components"]) == 3 + 4
    assert [mark["group"] for mark in after["marks"]["marks"]] == ["pair", "bell"]
    assert "bit for bit" in after["adds_up"]
    got = studio.sound(1000, 2000, after["id"])
    components = np.frombuffer(got.body, "<f4").reshape(8, 2, -1)[1:]
    bell = components[np.array(after["groups"][1]["components"]) - 1].sum(axis=0)
    error = np.square(bell - sounds[2]).sum() / np.square(sounds[2]).sum()
    assert error < 0.05  # what is kept is what was heard


def test_without_the_recording_nothing_is_learned(home, filled):
    with running(filled) as studio:
        studio.save(0, PAIR, marks=marks(EARLY))
    (filled / "song/song.wav").unlink()
    with running(home, *discover(filled / "song/whole")) as studio:
        id = studio.versions()[0][0]["id"]
        got = studio("POST", f"versions/{id}/draft", {})
        assert (got.status, "drop it" in got.json["error"]) == (409, True)
        got = studio("GET", f"versions/{id}/spectrogram/0/6000")  # of the sum
        assert got.status == 200


def test_a_removed_version_takes_its_draft_along(studio, version):
    studio.save(0, PAIR, marks=marks(EARLY))
    assert studio("POST", "versions/v1/draft", {}).status == 200
    assert studio("DELETE", "versions/v1").status == 204
    assert studio("POST", "versions/v1/draft/versions", {}).status == 404
    assert studio.session.pointing._draft is None


def test_marks_come_along_to_another_version(studio, version):
    sent = marks(EARLY, {"group": "bell", "start": 0.3, "end": 0.5}, new=["bell"])
    studio.save(0, PAIR, marks=sent)
    studio.again(seed=5)
    ((_, again),) = studio.versions(studio.until(idle))
    assert [mark["group"] for mark in again["marks"]["marks"]] == ["pair", "bell"]
    assert again["marks"]["new"] == ["bell"]


def test_spectrograms_of_the_recording_and_of_groups(studio, version):
    def picture(stretch, components=""):
        got = studio("GET", f"versions/v1/spectrogram/{stretch}?components={components}")
        assert got.status == 200, got.body
        return np.frombuffer(got.body, np.uint8).reshape(-1, ROWS)

    whole = picture("0/6000")
    both = picture("0/6000", "1,2,3").astype(int), whole.astype(int)
    assert np.abs(both[0] - both[1]).max() <= 1
    assert picture("0/6000", "1").astype(int).sum() < whole.astype(int).sum()
    assert len(picture("3000/1000")) >= 1
    long = "0/6000?components=" + 5000 * "1"
    for bad in (
        "0/6001",
        "6000/1",
        "-1/5",
        "0/0",
        "0/6000?components=4",
        "0/6000?components=0,x",
        long,
    ):
        assert studio("GET", f"versions/v1/spectrogram/{bad}").status in (400, 404)


def test_a_spectrogram_is_computed_once(studio, version, monkeypatch):
    first = studio("GET", "versions/v1/spectrogram/0/6000")
    monkeypatch.setattr("phinmf.studio.pointing.spectrogram", None)
    assert studio("GET", "versions/v1/spectrogram/0/6000").body == first.body


def test_everything_but_one_group_is_one_file(studio, home, version, tmp_path):
    studio.save(0, PAIR)
    how = {"kind": "groups", "without": ["pair"]}
    made = studio("POST", "versions/v1/exports", how).json
    assert made["name"] == "song without pair.wav"
    (tmp_path / "rest.wav").write_bytes(studio("GET", made["address"]).body)
    rest, _ = soundfile.read(tmp_path / "rest.wav", dtype="int16")
    third, _ = soundfile.read(home / "song/whole/component_03.wav", dtype="int16")
    assert np.array_equal(rest, third)
    got = studio("POST", "versions/v1/exports", how | {"without": ["../x"]})
    assert (got.status, "the groups are pair, rest" in got.json["error"]) == (400, True)
