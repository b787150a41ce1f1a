"""Groups and levels: saved means on the disk, and two tabs never overwrite each other."""

import threading

from phinmf.unmixing.groups import save_mix
from phinmf.unmixing.mix import Group, Mix

DRUMS = [{"name": "drums", "colour": 1, "components": [1, 3]}]
LEVELS = [{"gain_db": -6.0, "pan": -1.0, "muted": True}] * 3


def test_the_second_tab_is_told_what_the_first_one_saved(studio, version):
    studio.save(0, DRUMS, LEVELS)
    got = studio.save(0, [])
    assert got.status == 409
    assert (got.json["revision"], got.json["groups"], got.json["levels"]) == (1, DRUMS, LEVELS)
    assert "changed elsewhere" in got.json["error"]
    assert studio.save(1, []).json == {"revision": 2}
    flat = [{"gain_db": 0.0, "pan": 0.0, "muted": False}] * 3
    assert studio.save(1, DRUMS, LEVELS).json["levels"] == flat


def test_of_many_at_once_each_revision_is_won_by_one(studio, version):
    answers = []

    def save():
        for _ in range(6):
            answers.append(studio.save(studio.versions()[0][0]["revision"], DRUMS, LEVELS))

    threads = [threading.Thread(target=save) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status for answer in answers} <= {200, 409}
    won = [answer.json["revision"] for answer in answers if answer.status == 200]
    assert sorted(won) == list(range(1, len(won) + 1))
    assert studio.versions()[0][0]["revision"] == len(won)


def test_what_another_program_saved_is_shown(studio, home, version):
    save_mix(home / "song/whole", Mix([Group("bass", [2])]))
    got = studio.save(0, DRUMS)
    assert got.status == 409
    assert got.json["groups"] == [{"name": "bass", "colour": 0, "components": [2]}]
    assert studio.versions()[0][0]["groups"] == got.json["groups"]
