"""Groups that are carried over to another take: most of each component is where it was."""

import numpy as np
import pytest
import soundfile

from phinmf.audio import files
from phinmf.audio.example import example
from phinmf.unmixing.carry import carried
from phinmf.unmixing.folder import unmix_file
from phinmf.unmixing.mix import Group, Mix
from phinmf.unmixing.options import Output, UnmixOptions
from phinmf.unmixing.saved_mix import save_mix


@pytest.fixture(scope="module")
def piece(tmp_path_factory):
    """A rendered piece with true stems, as a file, and a function that unmixes it."""
    folder = tmp_path_factory.mktemp("piece")
    made = example()
    recording = folder / "piece.wav"
    soundfile.write(recording, made.mixture / 2, made.sample_rate, subtype="FLOAT")

    def take(name, K, seed, start=0.0, seconds=None):
        stretch = files.excerpt(recording).stretch(start, seconds)
        options = UnmixOptions(n_components=K, seed=seed, solver=None)
        unmix_file(stretch, Output(folder / name), options)
        return folder / name

    return made, take


def truth(folder, made, start=0):
    """Return for each component of a folder the number of the stem that holds most of it."""
    owners = []
    stems = np.stack(list(made.stems.values())) / 2
    for path in sorted(folder.glob("component_*.wav")):
        y, _ = soundfile.read(path)
        first = round(start * made.sample_rate)
        inner = stems[:, first : first + len(y)] @ y
        owners.append(int(inner.argmax()))
    return owners


def grouped_by_truth(folder, made, start=0):
    """Save the groups that the true stems make, and return their names in order."""
    owners = truth(folder, made, start)
    names = sorted(set(owners))
    groups = [
        Group(f"stem {s}", [k for k, owner in enumerate(owners, 1) if owner == s], s % 12)
        for s in names
    ]
    save_mix(folder, Mix(groups))
    return groups


@pytest.mark.parametrize(
    ("K", "seed", "start", "seconds"), [(8, 1, 0, None), (12, 2, 0, None), (8, 3, 2.0, 5.0)]
)
def test_groups_are_carried_to_another_seed_number_and_stretch(
    piece, tmp_path, K, seed, start, seconds
):
    made, take = piece
    old = take(f"old {K} {seed}", 8, 0)
    groups = grouped_by_truth(old, made)
    new = take(f"new {K} {seed}", K, seed, start, seconds)
    found = carried(old, new)
    assert [(g.name, g.colour) for g in found] == [(g.name, g.colour) for g in groups]
    owners = truth(new, made, start)
    energies = [np.square(soundfile.read(p)[0]).sum() for p in sorted(new.glob("component_*.wav"))]
    placed = {k: int(g.name.split()[1]) for g in found for k in g.components}
    right = sum(energies[k - 1] for k, stem in placed.items() if owners[k - 1] == stem)
    assert right / sum(energies) > 0.8
    assert len(placed) == sum(len(g.components) for g in found)


def test_the_same_take_keeps_its_groups(piece):
    made, take = piece
    one, same = take("one", 6, 5), take("same", 6, 5)
    groups = [Group("a", [2, 1], 3), Group("b", [4]), Group("empty", [])]
    save_mix(one, Mix(groups))
    assert carried(one, same) == [Group("a", [1, 2], 3), Group("b", [4])]


def test_without_groups_there_is_nothing_to_carry(piece):
    made, take = piece
    assert carried(take("plain", 2, 0), take("other", 2, 1)) == []


def test_takes_that_have_nothing_in_common(piece):
    made, take = piece
    early, late = take("early", 2, 0, 0.0, 2.0), take("late", 2, 0, 5.0, 2.0)
    save_mix(early, Mix([Group("a", [1])]))
    with pytest.raises(ValueError, match="no moment in common"):
        carried(early, late)
