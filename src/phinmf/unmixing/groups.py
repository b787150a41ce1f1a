"""Components joined to groups: by name, or those that are alike."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np

from phinmf._types import Array
from phinmf.fit.automatic import AUTO
from phinmf.unmixing import ownership
from phinmf.unmixing.clustering import divide
from phinmf.unmixing.folder import check_names, group_files
from phinmf.unmixing.mix import COLOURS, REST, Group, Mix, check_groups, folded
from phinmf.unmixing.options import UnmixOptions
from phinmf.unmixing.placing import exchange
from phinmf.unmixing.record import FolderRecord, GroupRecord
from phinmf.unmixing.sums import component_sounds, format_of, write_sums

Groups = dict[str, list[int]]  #: names, and numbers of components counted from 1
AUTOMATIC = "part_{}"  #: names of groups that have none
Grouping = list[Group] | int  #: groups by name, or how many


def clusters(S: Array, n: int, shares: Sequence[float] | None = None) -> Groups:
    """Join components into n groups by their similarity (K, K) and shares of the energy."""
    check_count(n, len(S))
    labels = divide(S, n, None if shares is None else np.array(shares))
    clustered = [np.flatnonzero(labels == label) + 1 for label in dict.fromkeys(labels)]
    return {AUTOMATIC.format(i): members.tolist() for i, members in enumerate(clustered, 1)}


def automatic(record: FolderRecord, n: int) -> list[Group]:
    """Join the components of a folder into n groups."""
    shares = [component.share for component in record.components]
    clustered = clusters(np.array(record.similarity), n, shares)
    return [Group(name, members) for name, members in clustered.items()]


def check_count(n: int, K: int) -> None:
    """Raise if K components cannot make n groups."""
    if not 1 <= n <= K:
        raise ValueError(f"groups is {n}, but {K} components make 1 to {K} groups")


def check_known(grouping: Grouping | None, options: UnmixOptions) -> None:
    """Refuse to group components that are still to be counted."""
    if grouping is not None and options.n_components == AUTO:
        raise ValueError(
            "n_components is 'auto', so that the components to group are not known yet: unmix"
            " first, then group the components in the folder that is written"
        )


def names(grouping: Grouping | None, K: int) -> list[str]:
    """Return the names of the groups that K components will be joined to; raise if they cannot."""
    if grouping is None:
        return []
    if isinstance(grouping, int):
        check_count(grouping, K)
        return [AUTOMATIC.format(i + 1) for i in range(grouping)]
    check_groups(grouping, K)
    return [group.name for group in with_rest(grouping, K)]


def with_rest(groups: list[Group], K: int) -> list[Group]:
    """Return the groups that are not empty, and as "rest" the components that are in none."""
    named = {number for group in groups for number in group.components}
    rest = [number for number in range(1, K + 1) if number not in named]
    return [group for group in groups if group.components] + [Group(REST, rest)] * bool(rest)


def regroup(folder: Path, grouping: Grouping) -> FolderRecord:
    """Add up the components of a finished folder into groups; nothing is learned again.

    The files of the grouping before, if they are as they were written, are replaced. The groups
    are saved with the levels that a listener chose.
    """
    record = ownership.read(folder)
    components = [component.file for component in record.components]
    chosen = automatic(record, grouping) if isinstance(grouping, int) else grouping
    check_groups(chosen, len(components))
    groups = with_rest(chosen, len(components))
    sounds = component_sounds(folder, record)
    sample_format = format_of(record, sounds[0])
    targets = group_files([group.name for group in groups], sample_format)
    check_names([*components, *targets])
    before = [group.file for group in (record.groups or {}).values()]
    out = replaced_files(folder, before, targets)
    with exchange(folder, record, out) as new:
        paths, members = [new / name for name in targets], [group.components for group in groups]
        measured = write_sums(sounds, members, paths, sample_format, folder)
        mix = record.mix or Mix()
        grouped = replace(
            record,
            mix=replace(mix, groups=coloured(chosen, mix.groups), revision=mix.revision + 1),
            groups={
                group.name: GroupRecord(file, group.components)
                for group, file in zip(groups, targets, strict=True)
            },
            groups_null_test=measured.null_test,
        )
        return ownership.write(new, grouped, add=targets, drop=before)


def groups_of(record: FolderRecord) -> list[Group]:
    """Return the groups that a folder was given, then the rest; none if it was given none."""
    if record.mix is None or not any(group.components for group in record.mix.groups):
        return []
    return with_rest(coloured(record.mix.groups, []), len(record.components))


def coloured(groups: list[Group], before: list[Group]) -> list[Group]:
    """Give every group a colour: the one that its name had before, or else the first free one."""
    earlier = {folded(group.name): group.colour for group in before}
    colours = [
        earlier.get(folded(group.name)) if group.colour is None else group.colour
        for group in groups
    ]
    free = (colour for colour in count() if colour % COLOURS not in colours or colour >= COLOURS)
    return [
        replace(group, colour=next(free) % COLOURS if colour is None else colour)
        for group, colour in zip(groups, colours, strict=True)
    ]


def replaced_files(folder: Path, before: list[str], targets: list[str]) -> list[str]:
    """Return the existing files of the grouping before; raise if a user's file is in the way."""
    out = [name for name in before if os.path.lexists(folder / name)]
    for name in out:
        if not ownership.ours(folder, name):
            raise FileExistsError(f"{folder / name} was changed since it was written: move it away")
    for name in targets:
        if os.path.lexists(folder / name) and folded(name) not in map(folded, out):
            raise FileExistsError(f"{folder / name} was not written by phinmf: move it away")
    return out
