"""Groups of components in a finished folder: saved with their levels, and added up."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from phinmf.audio import SampleFormat
from phinmf.errors import InvalidValue
from phinmf.unmixing import listing
from phinmf.unmixing.folder import component_sounds
from phinmf.unmixing.listing import FolderRecord, GroupRecord
from phinmf.unmixing.marks import Marks, read_marks
from phinmf.unmixing.mix import (
    Group,
    Grouping,
    Mix,
    check_groups,
    check_mix,
    folded,
    with_rest,
)
from phinmf.unmixing.placing import exchange, own_files
from phinmf.unmixing.similarity import divide
from phinmf.unmixing.sums import derived_format, membership, write_sums

AUTOMATIC = "part_{}"  #: names of groups that have none


class MixChanged(InvalidValue):
    """Somebody else has saved groups or levels since they were read; `mix` is what is stored."""

    def __init__(self, folder: Path, mix: Mix) -> None:
        super().__init__(f"the groups of {folder} were changed elsewhere: look at them again")
        self.mix = mix


def save_mix(
    folder: Path, mix: Mix, workplace: Path | None = None, marks: Marks | None = None
) -> FolderRecord:
    """Store groups, levels and, unless they are None, marks; return what result.json says now.

    The `revision` of the mix must be the one that is stored, which is 0 if nothing was saved yet;
    otherwise MixChanged is raised. It is stored with the next one. `workplace` is an existing
    folder on the same disk for temporary files, by default the one above `folder`.
    """
    record = listing.read(folder)
    if mix.revision != record.mix.revision:
        raise MixChanged(folder, record.mix)
    check_mix(mix, len(record.components))
    changed = replace(record, mix=replace(mix, revision=mix.revision + 1))
    added = [] if marks is None else [listing.MARKS]
    own_files(folder, added, ())
    try:
        with exchange(folder, record, added, workplace=workplace) as new:
            if marks is not None:
                marks.write(new / listing.MARKS)
            return listing.write(new, changed, add=added)
    except FileExistsError:
        raise MixChanged(folder, listing.read(folder).mix) from None


def marks_of(folder: Path) -> Marks | None:
    """Return the marks of a folder, if there are any."""
    if listing.MARKS not in listing.read(folder).files:
        return None
    return read_marks(listing.inside(folder, listing.MARKS))


def regroup(folder: Path, grouping: Grouping) -> FolderRecord:
    """Add up the components of a finished folder into groups; nothing is learned again.

    The files of the grouping before are replaced. The groups are saved with the levels that a
    listener chose.
    """
    record = listing.read(folder)
    K = len(record.components)
    sounds = component_sounds(folder, record)
    sample_format = derived_format(record, sounds[0])
    targets = group_files(grouping, K, sample_format)
    chosen = alike(record, grouping) if isinstance(grouping, int) else grouping
    groups = with_rest(chosen, K)
    before = [group.file for group in record.groups.values()]
    with exchange(folder, record, targets, before) as new:
        paths = [new / name for name in targets]
        gains = membership(groups, K, sounds[0].channels)
        test = write_sums(sounds, gains, paths, sample_format, folder)
        grouped = replace(
            record,
            mix=replace(record.mix, groups=chosen, revision=record.mix.revision + 1),
            groups={
                group.name: GroupRecord(file, group.components)
                for group, file in zip(groups, targets, strict=True)
            },
            groups_null_test=test,
        )
        return listing.write(new, grouped, add=targets, drop=before)


def group_files(grouping: Grouping, K: int, sample_format: SampleFormat) -> list[str]:
    """Return the names of the files of groups of K components; raise if there cannot be such."""
    if isinstance(grouping, int):
        if not 1 <= grouping <= K:
            raise InvalidValue(f"groups is {grouping}, but {K} components make 1 to {K} groups")
        names = [AUTOMATIC.format(i + 1) for i in range(grouping)]
    else:
        check_groups(grouping, K)
        names = [group.name for group in with_rest(grouping, K)]
    for name in names:
        if re.fullmatch(r"component_\d+", folded(name)):
            raise InvalidValue(f"a group is called {name}, as a component is: choose another name")
    return [f"{name}{sample_format.suffix}" for name in names]


def alike(record: FolderRecord, n: int) -> list[Group]:
    """Join the components of a folder into n groups of those that are alike."""
    shares = [component.share for component in record.components]
    labels = divide(np.array(record.similarity), n, np.array(shares))
    members = [np.flatnonzero(labels == label) + 1 for label in dict.fromkeys(labels)]
    return [Group(AUTOMATIC.format(i), k.tolist()) for i, k in enumerate(members, 1)]
