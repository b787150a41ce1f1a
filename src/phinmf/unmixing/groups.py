"""Components taken together: by name, or those that sound at the same times."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from phinmf._types import Array
from phinmf.audio import files
from phinmf.audio.writing import Stems, encoding_for
from phinmf.unmixing import ownership
from phinmf.unmixing.null_test import measure, sentence
from phinmf.unmixing.placing import exchange
from phinmf.unmixing.planning import check_names, group_files, one_case

Groups = dict[str, list[int]]
REST = "rest"  #: the group of components that are in no other


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


def clusters(similarity: Any, n: int) -> Groups:
    """Put components that are loud at the same times into n groups."""
    S = np.asarray(similarity, dtype=float)
    K = len(S)
    check_count(n, K)
    if K == 1:
        return {"part_1": [1]}
    distance = np.clip(1 - (S + S.T) / 2, 0, 2)
    np.fill_diagonal(distance, 0)
    labels = fcluster(linkage(squareform(distance, checks=False), "average"), n, "maxclust")
    found = [[k + 1 for k in range(K) if labels[k] == label] for label in dict.fromkeys(labels)]
    return {f"part_{i + 1}": members for i, members in enumerate(found)}


def check_count(n: int, K: int) -> None:
    """Raise if K components cannot make n groups."""
    if not 1 <= n <= K:
        raise ValueError(f"groups is {n}, but {K} components make 1 to {K} groups")


def complete(groups: Groups, K: int) -> Groups:
    """Check the numbers; components that are in no group are "rest"."""
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


def names(wanted: Groups | int | None, K: int) -> list[str]:
    """Of the groups that will be made of K components, if they can be made."""
    if wanted is None:
        return []
    if isinstance(wanted, int):
        check_count(wanted, K)
        return [f"part_{i + 1}" for i in range(wanted)]
    return list(complete(wanted, K))


def regroup(folder: Path, wanted: Groups | int) -> dict[str, Any]:
    """Add up the components of a finished folder into groups; nothing is learned again.

    The files of the grouping before, if they are as they were written, make way for the new ones.
    """
    result = ownership.read(folder)
    with ownership.understood(folder):
        components = [component["file"] for component in result["components"]]
        groups = clusters(result["similarity"], wanted) if isinstance(wanted, int) else wanted
        before = [group["file"] for group in result.get("groups", {}).values()]
        format, subtype = str(result["format"]), str(result["subtype"])
    groups = complete(groups, len(components))
    sounds = [files.probe(ownership.inside(folder, name)) for name in components]
    first = sounds[0]
    for sound in sounds:
        if (sound.length, sound.channels) != (first.length, first.channels):
            raise ValueError(f"{sound.path} is not as long as {first.path}, or has other channels")
    encoding = encoding_for(first, first.length, format, subtype)
    targets = group_files(groups, encoding)
    check_names([*components, *targets])
    out = [name for name in before if os.path.lexists(folder / str(name))]
    for name in out:
        if not ownership.ours(folder, name, result):
            raise FileExistsError(f"{folder / name} was changed since it was written: move it away")
    for name in targets:
        if os.path.lexists(folder / name) and one_case(name) not in map(one_case, out):
            raise FileExistsError(f"{folder / name} was not written by phinmf: move it away")
    with exchange(folder, result, out) as new:
        with Stems([new / name for name in targets], encoding, first, where=folder) as stems:
            for parts in zip(*(files.blocks(sound) for sound in sounds), strict=True):
                stems.write(total(parts), np.stack(list(sums(parts, groups))))
        again = (total(parts) for parts in zip(*(files.blocks(s) for s in sounds), strict=True))
        measured = measure(stems, again)
        result["groups"] = {
            name: {"file": file, "components": groups[name]}
            for name, file in zip(groups, targets, strict=True)
        }
        result["groups_add_up"] = sentence(measured, "groups", "the components")
        ownership.write(new, result, add=targets, drop=before)
    return {"folder": str(folder), **ownership.read(folder)}


def total(parts: tuple[Array, ...]) -> Array:
    """The samples of all components."""
    return sum(parts, np.zeros_like(parts[0]))


def sums(parts: tuple[Array, ...], groups: Groups) -> Iterator[Array]:
    """The samples of each group."""
    for members in groups.values():
        yield np.sum([parts[number - 1] for number in members], axis=0)
