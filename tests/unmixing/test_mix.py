"""Groups and levels that a listener chose: what is refused, and how they are saved."""

import threading

import pytest
from kept import everything
from studios import unmixed

from phinmf.unmixing import ownership
from phinmf.unmixing.mix import Group, Level, Mix, check_mix, check_name
from phinmf.unmixing.placing import exchange
from phinmf.unmixing.saved_mix import MixChanged, save_mix, stored

GOOD = ["drums", "Lead guitar (left)", "Bass & co", "ваще", "1", "rest of it"]
BAD = ["", " ", "a/b", "a\\b", ".hidden", "end.", " x", "x ", "a\nb", "a\0", "CON", "com1.wav",
       "x" * 81, "a:b", "\u202eabc", "🥁" * 61]  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_names_that_files_can_have(name):
    check_name(name)


@pytest.mark.parametrize("name", BAD)
def test_names_that_some_disk_refuses(name):
    with pytest.raises(ValueError, match="choose another name"):
        check_name(name)


@pytest.mark.parametrize(
    ("mix", "words"),
    [
        (Mix([Group("a", [1]), Group("b", [1])]), "component 1 is in two groups"),
        (Mix([Group("a", [1, 1])]), "component 1 is in two groups"),
        (Mix([Group("a", [4])]), "names component 4, but there are 1 to 3"),
        (Mix([Group("a", [1]), Group("A", [2])]), "two groups are called 'A'"),
        (Mix([Group("Rest", [1])]), "which are components 2, 3: choose"),
        (Mix([Group("Rest", [1, 2])]), "which is component 3: choose"),
        (Mix(levels=[Level()]), "1 levels, but 3 components"),
        (Mix(levels=[Level(), Level(gain_db=100), Level()]), "gain of 100 dB"),
        (Mix(levels=[Level(), Level(pan=float("nan")), Level()]), "pan of nan"),
    ],
)
def test_mixes_that_cannot_be_meant(mix, words):
    with pytest.raises(ValueError, match=words):
        check_mix(mix, 3)


@pytest.fixture
def folder(tmp_path):
    return unmixed(tmp_path / "song")


def test_saving_changes_the_listing_alone(folder):
    before, unsaved = everything(folder), ownership.read(folder)
    record = save_mix(folder, Mix([Group("drums", [1, 2], 4)], [Level(-3.0)] * 3))
    after = everything(folder)
    assert record == ownership.read(folder)
    assert stored(record) == Mix([Group("drums", [1, 2], 4)], [Level(-3.0)] * 3, 1)
    assert {name for name in after if after[name] != before.get(name)} == {"result.json"}
    assert after.keys() == before.keys()
    assert [path.name for path in folder.parent.iterdir()].count("song") == 1
    ownership.check_replaceable(folder)  # it is still a folder of this program
    with pytest.raises(FileExistsError, match="meanwhile"), exchange(folder, unsaved) as new:
        ownership.write(new, unsaved, add=[])
    assert ownership.read(folder) == record


def test_an_old_revision_is_refused_with_what_is_stored(folder):
    save_mix(folder, Mix([Group("drums", [1])]))
    with pytest.raises(MixChanged) as caught:
        save_mix(folder, Mix([Group("bass", [1])]))
    assert caught.value.mix == Mix([Group("drums", [1])], [], 1)
    assert stored(ownership.read(folder)) == caught.value.mix


def test_of_two_at_once_one_wins(folder):
    outcomes = []

    def save(name):
        try:
            outcomes.append(stored(save_mix(folder, Mix([Group(name, [1])]))))
        except MixChanged as error:
            outcomes.append(error)

    threads = [threading.Thread(target=save, args=[f"g{i}"]) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (won,) = [outcome for outcome in outcomes if isinstance(outcome, Mix)]
    assert stored(ownership.read(folder)) == won
    assert len(outcomes) == 8


@pytest.mark.parametrize(
    "mix",
    [Mix([Group("a", [4])]), Mix([Group("a/b", [1])]), Mix([], [Level()]),
     Mix([Group("a", [1], 12)]), Mix([], [Level(pan=2.0)] * 3)],
)  # fmt: skip
def test_nonsense_is_not_saved(folder, mix):
    before = everything(folder)
    with pytest.raises(ValueError):
        save_mix(folder, mix)
    assert everything(folder) == before
