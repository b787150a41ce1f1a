"""Components joined to groups: by name, or those that are loud at the same times."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Final, Literal

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from phinmf._types import Array
from phinmf.audio import files
from phinmf.audio.files import Sound
from phinmf.audio.sample_format import sample_format_for
from phinmf.audio.writing import Stems
from phinmf.fit.automatic import AUTO
from phinmf.unmixing import ownership
from phinmf.unmixing.mix import REST, Group, Mix, check_groups, folded
from phinmf.unmixing.null_test import measure, sentence
from phinmf.unmixing.options import UnmixOptions
from phinmf.unmixing.placing import exchange
from phinmf.unmixing.planning import check_names, group_files
from phinmf.unmixing.record import FolderRecord, GroupRecord

Groups = dict[str, list[int]]  #: names, and numbers of components counted from 1
AUTOMATIC = "part_{}"  #: names of groups that have none
COLOURS = 12  #: that groups have on a page
SAVED: Final = "saved"  #: the groups that a listener chose, in the studio or before
Wanted = list[Group] | int | Literal["saved"]  #: groups by name, how many, or those that are saved


def clusters(S: Array, n: int) -> Groups:
    """Join components into n groups by the similarity (K, K) of their loudness over time."""
    K = len(S)
    check_count(n, K)
    if K == 1:
        return {AUTOMATIC.format(1): [1]}
    distance = np.clip(1 - (S + S.T) / 2, 0, 2)
    np.fill_diagonal(distance, 0)
    labels = fcluster(linkage(squareform(distance, checks=False), "average"), n, "maxclust")
    found = [[k + 1 for k in range(K) if labels[k] == label] for label in dict.fromkeys(labels)]
    return {AUTOMATIC.format(i): members for i, members in enumerate(found, 1)}


def similarity(H: Array) -> Array:
    """Return the correlation (K, K) of the loudness of components over time."""
    loudness = np.sqrt(H)
    loudness = loudness - loudness.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(loudness, axis=1)
    loudness /= np.where(norms > 0, norms, 1)[:, None]
    return loudness @ loudness.T


def check_count(n: int, K: int) -> None:
    """Raise if K components cannot make n groups."""
    if not 1 <= n <= K:
        raise ValueError(f"groups is {n}, but {K} components make 1 to {K} groups")


def check_known(wanted: Wanted | None, options: UnmixOptions) -> None:
    """Refuse to group components that are still to be counted."""
    if wanted is not None and options.n_components == AUTO:
        raise ValueError(
            "n_components is 'auto', so that the components to group are not known yet: unmix"
            " first, then group the components in the folder that is written"
        )


def names(wanted: Wanted | None, K: int) -> list[str]:
    """Return the names of the groups that K components will be joined to; raise if they cannot."""
    if wanted is None:
        return []
    if wanted == SAVED:
        raise ValueError(
            f"groups is {SAVED!r}, which is for a folder of components in which groups were chosen:"
            " unmix the recording first"
        )
    if isinstance(wanted, int):
        check_count(wanted, K)
        return [AUTOMATIC.format(i + 1) for i in range(wanted)]
    check_groups(wanted, K)
    return [group.name for group in with_rest(wanted, K)]


def with_rest(groups: list[Group], K: int) -> list[Group]:
    """Return the groups that are not empty, and as "rest" the components that are in none."""
    named = {number for group in groups for number in group.components}
    rest = [number for number in range(1, K + 1) if number not in named]
    return [group for group in groups if group.components] + [Group(REST, rest)] * bool(rest)


def regroup(folder: Path, wanted: Wanted) -> FolderRecord:
    """Add up the components of a finished folder into groups; nothing is learned again.

    The files of the grouping before, if they are as they were written, are replaced. The groups
    are saved with the levels that a listener chose.
    """
    record = ownership.read(folder)
    components = [component.file for component in record.components]
    chosen = chosen_groups(folder, record, wanted)
    groups = with_rest(chosen, len(components))
    sounds = [files.probe(ownership.inside(folder, name)) for name in components]
    first = sounds[0]
    for sound in sounds:
        if (sound.length, sound.channels) != (first.length, first.channels):
            raise ValueError(f"{sound.path} is not as long as {first.path}, or has other channels")
    sample_format = sample_format_for(
        first.sample_format, first.length * first.channels, record.format, record.subtype
    )
    targets = group_files([group.name for group in groups], sample_format)
    check_names([*components, *targets])
    before = [group.file for group in (record.groups or {}).values()]
    out = replaced_files(folder, before, targets)
    with exchange(folder, record, out) as new:
        paths = [new / name for name in targets]
        with Stems(
            paths, sample_format, first.sample_rate, first.channels, tags=first.tags, where=folder
        ) as stems:
            for blocks in side_by_side(sounds):
                stems.write(total(blocks), np.stack(list(sums(blocks, groups))))
        measured = measure(stems, (total(blocks) for blocks in side_by_side(sounds)))
        mix = record.mix or Mix()
        grouped = replace(
            record,
            mix=replace(mix, groups=coloured(chosen, mix.groups), revision=mix.revision + 1),
            groups={
                group.name: GroupRecord(file, group.components)
                for group, file in zip(groups, targets, strict=True)
            },
            groups_add_up=sentence(measured, "groups", "the components"),
        )
        return ownership.write(new, grouped, add=targets, drop=before)


def chosen_groups(folder: Path, record: FolderRecord, wanted: Wanted) -> list[Group]:
    """Return the groups that are asked for, checked; without those that are the rest."""
    K = len(record.components)
    if isinstance(wanted, int):
        found = clusters(np.array(record.similarity), wanted)
        return [Group(name, members) for name, members in found.items()]
    if wanted == SAVED:
        if not groups_of(record):
            raise ValueError(f"{folder} has no saved groups: name them, or say how many there are")
        wanted = record.mix.groups if record.mix else []
    check_groups(wanted, K)
    return wanted


def groups_of(record: FolderRecord) -> list[Group]:
    """Return the groups that a folder was given, then the rest; none if it was given none."""
    if record.mix is None or not any(group.components for group in record.mix.groups):
        return []
    return with_rest(coloured(record.mix.groups, []), len(record.components))


def coloured(groups: list[Group], before: list[Group]) -> list[Group]:
    """Give every group a colour: the one that its name had before, or else the first free one."""
    known = {folded(group.name): group.colour for group in before}
    kept = [
        known.get(folded(group.name)) if group.colour is None else group.colour for group in groups
    ]
    free = (colour for colour in count() if colour % COLOURS not in kept or colour >= COLOURS)
    return [
        replace(group, colour=next(free) % COLOURS if colour is None else colour)
        for group, colour in zip(groups, kept, strict=True)
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


def side_by_side(sounds: list[Sound]) -> Iterator[tuple[Array, ...]]:
    """Yield blocks of all sound files at the same time."""
    return zip(*(files.blocks(sound) for sound in sounds), strict=True)


def total(blocks: tuple[Array, ...]) -> Array:
    """Return the sum of all components."""
    return sum(blocks, np.zeros_like(blocks[0]))


def sums(blocks: tuple[Array, ...], groups: list[Group]) -> Iterator[Array]:
    """Yield the sum of the components of each group."""
    for group in groups:
        yield np.sum([blocks[number - 1] for number in group.components], axis=0)
