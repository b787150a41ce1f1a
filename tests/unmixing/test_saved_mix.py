import threading

import pytest
from kept import everything
from studios import unmixed

from phinmf.unmixing import ownership
from phinmf.unmixing.mix import Group, Level, Mix
from phinmf.unmixing.placing import exchange
from phinmf.unmixing.saved_mix import MixChanged, save_mix, stored


@pytest.fixture
def folder(tmp_path):
    return unmixed(tmp_path / "song")


def test_saving_changes_the_listing_alone(folder):
    before, before_it = everything(folder), ownership.read(folder)
    record = save_mix(folder, Mix([Group("drums", [1, 2], 4)], [Level(-3.0)] * 3))
    after = everything(folder)
    assert record == ownership.read(folder)
    assert stored(record) == Mix([Group("drums", [1, 2], 4)], [Level(-3.0)] * 3, 1)
    assert {name for name in after if after[name] != before.get(name)} == {"result.json"}
    assert after.keys() == before.keys()
    assert sorted(path.name for path in folder.parent.iterdir()) == ["song", "song source.wav"]
    ownership.replaceable(folder)  # it is still a folder of this program
    with (
        pytest.raises(FileExistsError, match="changed meanwhile"),
        exchange(folder, before_it) as new,
    ):
        ownership.write(new, before_it, add=[])
    assert record == ownership.read(folder)


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
