"""Components joined to groups: by name, or those that are alike."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from phinmf._types import Array
from phinmf.audio import files
from phinmf.audio.files import Sound
from phinmf.audio.sample_format import sample_format_for
from phinmf.audio.writing import Stems
from phinmf.fit.automatic import AUTO
from phinmf.unmixing import ownership
from phinmf.unmixing.clustering import divide
from phinmf.unmixing.null_test import measure, sentence
from phinmf.unmixing.options import UnmixOptions
from phinmf.unmixing.placing import exchange
from phinmf.unmixing.planning import check_names, group_files, one_case
from phinmf.unmixing.record import FolderRecord, GroupRecord

Groups = dict[str, list[int]]  #: names, and numbers of components counted from 1
REST = "rest"  #: the group of components that are in no other
AUTOMATIC = "part_{}"  #: names of groups that have none


def parse(text: str) -> Groups:
    """Read "drums=1,4 bass=2": names with numbers of components, counted from 1."""
    groups: Groups = {}
    for item in text.split():
        found = re.fullmatch(r"([^=/\\]+)=(\d+(?:,\d+)*)", item)
        if not found or found[1] in groups or found[1].startswith("."):
            raise ValueError(
                f'group is {text!r}, but names with numbers are needed, such as "drums=1,4 bass=2"'
            )
        groups[found[1]] = [int(number) for number in found[2].split(",")]
    numbers = [number for group in groups.values() for number in group]
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"group is {text!r}, but each component can be in one group only")
    return groups


def clusters(S: Array, n: int, shares: Sequence[float] | None = None) -> Groups:
    """Join components into n groups by their similarity (K, K) and shares of the energy."""
    check_count(n, len(S))
    labels = divide(S, n, None if shares is None else np.array(shares))
    found = [np.flatnonzero(labels == label) + 1 for label in dict.fromkeys(labels)]
    return {AUTOMATIC.format(i): members.tolist() for i, members in enumerate(found, 1)}


def automatic(record: FolderRecord, n: int) -> Groups:
    """Join the components of a folder into n groups."""
    shares = [component.share for component in record.components]
    return clusters(np.array(record.similarity), n, shares)


def check_count(n: int, K: int) -> None:
    """Raise if K components cannot make n groups."""
    if not 1 <= n <= K:
        raise ValueError(f"groups is {n}, but {K} components make 1 to {K} groups")


def complete(groups: Groups, K: int) -> Groups:
    """Check the numbers; put components that are in no group into "rest"."""
    named = {number for group in groups.values() for number in group}
    if unknown := named - set(range(1, K + 1)):
        raise ValueError(f"group names component {max(unknown)}, but there are 1 to {K}")
    rest = [number for number in range(1, K + 1) if number not in named]
    if rest and any(name.casefold() == REST for name in groups):
        raise ValueError(
            f"group names a group {REST}, but that is the name for what is in no group, which"
            f" is component {', '.join(map(str, rest))}: choose another name"
        )
    return {**groups, REST: rest} if rest else dict(groups)


def check_known(wanted: Groups | int | None, options: UnmixOptions) -> None:
    """Refuse to group components that are still to be counted."""
    if wanted is not None and options.n_components == AUTO:
        raise ValueError(
            "n_components is 'auto', so that the components to group are not known yet: unmix"
            " first, then group the components in the folder that is written"
        )


def names(wanted: Groups | int | None, K: int) -> list[str]:
    """Return the names of the groups that K components will be joined to; raise if they cannot."""
    if wanted is None:
        return []
    if isinstance(wanted, int):
        check_count(wanted, K)
        return [AUTOMATIC.format(i + 1) for i in range(wanted)]
    return list(complete(wanted, K))


def regroup(folder: Path, wanted: Groups | int) -> FolderRecord:
    """Add up the components of a finished folder into groups; nothing is learned again.

    The files of the grouping before, if they are as they were written, are replaced.
    """
    record = ownership.read(folder)
    components = [component.file for component in record.components]
    groups = automatic(record, wanted) if isinstance(wanted, int) else wanted
    groups = complete(groups, len(components))
    sounds = [files.probe(ownership.inside(folder, name)) for name in components]
    first = sounds[0]
    for sound in sounds:
        if (sound.length, sound.channels) != (first.length, first.channels):
            raise ValueError(f"{sound.path} is not as long as {first.path}, or has other channels")
    sample_format = sample_format_for(
        first.sample_format, first.length * first.channels, record.format, record.subtype
    )
    targets = group_files(groups, sample_format)
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
        named = zip(groups, targets, strict=True)
        grouped = replace(
            record,
            groups={name: GroupRecord(file, groups[name]) for name, file in named},
            groups_add_up=sentence(measured, "groups", "the components"),
        )
        return ownership.write(new, grouped, add=targets, drop=before)


def replaced_files(folder: Path, before: list[str], targets: list[str]) -> list[str]:
    """Return the existing files of the grouping before; raise if a user's file is in the way."""
    out = [name for name in before if os.path.lexists(folder / name)]
    for name in out:
        if not ownership.ours(folder, name):
            raise FileExistsError(f"{folder / name} was changed since it was written: move it away")
    for name in targets:
        if os.path.lexists(folder / name) and one_case(name) not in map(one_case, out):
            raise FileExistsError(f"{folder / name} was not written by phinmf: move it away")
    return out


def side_by_side(sounds: list[Sound]) -> Iterator[tuple[Array, ...]]:
    """Yield blocks of all sound files at the same time."""
    return zip(*(files.blocks(sound) for sound in sounds), strict=True)


def total(blocks: tuple[Array, ...]) -> Array:
    """Return the sum of all components."""
    return sum(blocks, np.zeros_like(blocks[0]))


def sums(blocks: tuple[Array, ...], groups: Groups) -> Iterator[Array]:
    """Yield the sum of the components of each group."""
    for members in groups.values():
        yield np.sum([blocks[number - 1] for number in members], axis=0)
