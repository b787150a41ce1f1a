"""Components taken together: by name, or those that sound at the same times."""

from __future__ import annotations

import json
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

Groups = dict[str, list[int]]


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
    if not 1 <= n <= K:
        raise ValueError(f"groups is {n}, but {K} components make 1 to {K} groups")
    if K == 1:
        return {"part_1": [1]}
    distance = np.clip(1 - (S + S.T) / 2, 0, 2)
    np.fill_diagonal(distance, 0)
    labels = fcluster(linkage(squareform(distance, checks=False), "average"), n, "maxclust")
    found = [[k + 1 for k in range(K) if labels[k] == label] for label in dict.fromkeys(labels)]
    return {f"part_{i + 1}": members for i, members in enumerate(found)}


def complete(groups: Groups, K: int) -> Groups:
    """Check the numbers; components that are in no group are "rest"."""
    named = {number for group in groups.values() for number in group}
    if not named <= set(range(1, K + 1)):
        raise ValueError(f"group names component {max(named)}, but there are 1 to {K}")
    rest = [number for number in range(1, K + 1) if number not in named]
    return {**groups, "rest": rest} if rest else dict(groups)


def regroup(folder: Path, wanted: Groups | int, overwrite: bool = False) -> dict[str, Any]:
    """Add up the components of a finished folder into groups; nothing is learned again."""
    path = folder / "result.json"
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        names = [component["file"] for component in result["components"]]
        similarity = result["similarity"]
    except (OSError, ValueError, KeyError, TypeError):
        raise ValueError(f"{folder} is not a folder that phinmf unmix has written") from None
    groups = clusters(similarity, wanted) if isinstance(wanted, int) else wanted
    groups = complete(groups, len(names))
    if any(os.path.basename(name) != name for name in names):
        raise ValueError(f"{path} names files outside of its folder")
    sounds = [files.probe(folder / name) for name in names]
    first = sounds[0]
    encoding = encoding_for(first, first.length, result["format"], result["subtype"])
    targets = [folder / f"{name}{encoding.suffix}" for name in groups]
    taken = [target.name for target in targets if target.exists() and not overwrite]
    if taken or set(names) & {target.name for target in targets}:
        raise FileExistsError(f"{folder} has {taken or names} already: add --overwrite, or rename")
    partial = [target.with_name(f".{target.name}.partial") for target in targets]
    try:
        with Stems(partial, encoding, first) as stems:
            for parts in zip(*(files.blocks(sound) for sound in sounds), strict=True):
                stems.write(
                    sum(parts, np.zeros_like(parts[0])), np.stack(list(sums(parts, groups)))
                )
        for source, target in zip(partial, targets, strict=True):
            os.replace(source, target)
    finally:
        for source in partial:
            source.unlink(missing_ok=True)
    result["groups"] = {
        name: {"file": target.name, "components": groups[name]}
        for name, target in zip(groups, targets, strict=True)
    }
    temporary = path.with_suffix(".partial")
    files.write_json(temporary, result)
    os.replace(temporary, path)
    return {"folder": str(folder), **result}


def sums(parts: tuple[Array, ...], groups: Groups) -> Iterator[Array]:
    """The samples of each group."""
    for members in groups.values():
        yield np.sum([parts[number - 1] for number in members], axis=0)
