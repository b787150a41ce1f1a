"""Groups that are carried over to another take: most of each component is where it was."""

import numpy as np
import pytest
import soundfile

from phinmf.audio import files
from phinmf.audio.example import example
from phinmf.unmix_file import Request, unmix_file
from phinmf.unmixing.carry import carried
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

    def take(K, seed, start=0.0, seconds=None):
        stretch = files.excerpt(recording).stretch(start, seconds)
        options = UnmixOptions(n_components=K, seed=seed, solver=None)
        new = folder / f"take {len(list(folder.iterdir()))}"
        unmix_file(Request(stretch, Output(new), options, page=False))
        return new

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


def rightly_placed(piece, old, new):
    """Return the share of the energy of a new take that is carried to the group of its stem."""
    made, take = piece
    before, after = take(*old), take(*new)
    groups = grouped_by_truth(before, made, old[2])
    found = carried(before, after)
    assert [(g.name, g.colour) for g in found] == [(g.name, g.colour) for g in groups]
    numbers = [k for g in found for k in g.components]
    assert len(set(numbers)) == len(numbers)
    owners = truth(after, made, new[2])
    power = [np.square(soundfile.read(p)[0]).sum() for p in sorted(after.glob("component_*.wav"))]
    placed = {k: int(g.name.split()[1]) for g in found for k in g.components}
    right = sum(power[k - 1] for k, stem in placed.items() if owners[k - 1] == stem)
    return right / sum(power)


@pytest.mark.full
def test_groups_are_carried_to_another_seed_number_and_stretch(piece):
    """Components hold sounds of several stems, so that even the grouping by truth is not pure."""
    pairs = [
        ((8, 0, 0.0, None), (8, 1, 0.0, None)),
        ((8, 0, 0.0, None), (12, 2, 0.0, None)),
        ((8, 3, 2.0, 5.0), (8, 0, 0.0, None)),
        ((16, 4, 0.0, None), (8, 1, 0.0, None)),
    ]
    shares = [rightly_placed(piece, old, new) for old, new in pairs]
    assert min(shares) > 0.6
    assert np.mean(shares) > 0.75


def test_the_same_take_keeps_its_groups(piece):
    _, take = piece
    one, same = take(6, 5), take(6, 5)
    groups = [Group("a", [2, 1], 3), Group("b", [4]), Group("empty", [])]
    save_mix(one, Mix(groups))
    assert carried(one, same) == [Group("a", [1, 2], 3), Group("b", [4])]


def test_without_groups_there_is_nothing_to_carry(piece):
    _, take = piece
    assert carried(take(2, 0), take(2, 1)) == []


def test_takes_that_have_nothing_in_common(piece):
    _, take = piece
    early, late = take(2, 0, 0.0, 2.0), take(2, 0, 5.0, 2.0)
    save_mix(early, Mix([Group("a", [1])]))
    with pytest.raises(ValueError, match="no moment in common"):
        carried(early, late)
