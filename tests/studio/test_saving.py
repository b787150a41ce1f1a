"""Groups and levels: saved means on the disk, and two tabs never overwrite each other."""

import threading

from studios import running

from phinmf.studio.discovery import discover
from phinmf.unmixing import ownership
from phinmf.unmixing.mix import Group, Mix
from phinmf.unmixing.saved_mix import save_mix

DRUMS = [{"name": "drums", "colour": 1, "components": [1, 3]}]
LEVELS = [{"gain_db": -6.0, "pan": -1.0, "muted": True}] * 3


def mix(revision, groups=DRUMS, levels=LEVELS):
    return {"revision": revision, "groups": groups, "levels": levels}


def test_saved_is_on_the_disk(studio, home, take):
    got = studio("PUT", "takes/t1/mix", mix(0))
    assert (got.status, got.json) == (200, {"revision": 1})
    stored = ownership.read(home / "song/whole").mix
    assert (stored.revision, stored.groups) == (1, [Group("drums", [1, 3], 1)])
    assert stored.levels[0].muted
    shown = studio.state["recordings"][0]["takes"][0]
    assert (shown["revision"], shown["groups"], shown["levels"]) == (1, DRUMS, LEVELS)


def test_the_second_tab_is_told_what_the_first_one_saved(studio, take):
    studio("PUT", "takes/t1/mix", mix(0))
    got = studio("PUT", "takes/t1/mix", mix(0, []))
    assert got.status == 409
    assert (got.json["revision"], got.json["groups"], got.json["levels"]) == (1, DRUMS, LEVELS)
    assert "changed elsewhere" in got.json["error"]
    assert studio("PUT", "takes/t1/mix", mix(1, [], [])).json == {"revision": 2}
    got = studio("PUT", "takes/t1/mix", mix(1))
    assert got.json["levels"] == [{"gain_db": 0.0, "pan": 0.0, "muted": False}] * 3


def test_of_many_at_once_each_revision_is_won_by_one(studio, take):
    answers = []

    def save():
        for _ in range(6):
            revision = studio.state["recordings"][0]["takes"][0]["revision"]
            answers.append(studio("PUT", "takes/t1/mix", mix(revision)))

    threads = [threading.Thread(target=save) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status for answer in answers} <= {200, 409}
    won = [answer.json["revision"] for answer in answers if answer.status == 200]
    assert sorted(won) == list(range(1, len(won) + 1))
    assert studio.state["recordings"][0]["takes"][0]["revision"] == len(won)


def test_what_another_program_saved_is_shown(studio, home, take):
    save_mix(home / "song/whole", Mix([Group("bass", [2])]))
    got = studio("PUT", "takes/t1/mix", mix(0))
    assert got.status == 409
    assert got.json["groups"] == [{"name": "bass", "colour": 0, "components": [2]}]
    shown = studio.state["recordings"][0]["takes"][0]
    assert shown["groups"] == got.json["groups"]


def test_a_folder_that_was_moved_away_is_an_answer(studio, home, take):
    (home / "song/whole").rename(home / "song/elsewhere")
    got = studio("PUT", "takes/t1/mix", mix(0))
    assert got.status == 400
    assert "whole" in got.json["error"]
    (home / "song/elsewhere").rename(home / "song/whole")


def test_a_take_that_was_moved_is_found_again(home, wav):
    with running(home) as studio:
        studio.upload(wav)
        studio.until(lambda s: s["recordings"] and s["recordings"][0]["takes"])
        studio("PUT", "takes/t1/mix", mix(0))
    (home / "song").rename(home.parent / "moved")
    with running(home.parent / "new", *discover(home.parent / "moved")) as studio:
        (take,) = studio.state["recordings"][0]["takes"]
        assert take["groups"] == DRUMS
        assert studio("DELETE", f"takes/{take['id']}").status == 409  # not in this home
