"""Carry the groups of one unmixing over to another one of the same recording."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from phinmf._types import Array
from phinmf.audio import files
from phinmf.unmixing import ownership
from phinmf.unmixing.mix import Group
from phinmf.unmixing.record import FolderRecord
from phinmf.unmixing.saved_mix import stored
from phinmf.unmixing.sums import component_sounds, total

SECONDS = 30.0  #: that are compared, from the middle of what both have
CONVINCING = 0.5  #: least share of a component that is in one group


def carried(old: Path, new: Path) -> list[Group]:
    """Return the groups of one folder in the components of another one.

    Each new component goes to the group that holds the largest share of it, or to none, if that is
    what the components of no group hold, or if it is less than half. Shares are measured in the
    sound itself: x = Σ g over groups and the rest, so the inner products of a component with
    them add up to its inner product with the recording x.

    Parameters
    ----------
    old, new : path
        Folders that ``phinmf unmix`` has written from the same recording; `old` has groups.
    """
    before, after = ownership.read(old), ownership.read(new)
    groups = [group for group in stored(before).groups if group.components]
    if not groups:
        return []
    shares = shared(old, before, new, after, groups)
    best = shares.argmax(axis=1)
    fits = np.take_along_axis(shares, best[:, None], axis=1)[:, 0] >= CONVINCING
    members: list[list[int]] = [[] for _ in groups]
    for k, (g, convincing) in enumerate(zip(best, fits, strict=True)):
        if convincing and g < len(groups):
            members[g].append(k + 1)
    return [
        replace(group, components=numbers) for group, numbers in zip(groups, members, strict=True)
    ]


def shared(
    old: Path, before: FolderRecord, new: Path, after: FolderRecord, groups: list[Group]
) -> Array:
    """Return the share (K, groups + 1) of each new component in each old group, the rest last."""
    old_sounds, new_sounds = component_sounds(old, before), component_sounds(new, after)
    first, n = common_stretch(before, after, old_sounds[0].sample_rate)
    inner = np.zeros((len(new_sounds), len(groups) + 1))
    for heard, found in zip(
        zip(*(files.blocks(sound, first - before.start, n) for sound in old_sounds), strict=True),
        zip(*(files.blocks(sound, first - after.start, n) for sound in new_sounds), strict=True),
        strict=True,
    ):
        sums = [np.sum([heard[i - 1] for i in group.components], axis=0) for group in groups]
        sums.append(total(heard) - np.sum(sums, axis=0))
        inner += np.stack(found).reshape(len(found), -1) @ np.stack(sums).reshape(len(sums), -1).T
    whole = inner.sum(axis=1, keepdims=True)
    return inner / np.where(whole > 0, whole, np.inf)


def common_stretch(before: FolderRecord, after: FolderRecord, sample_rate: int) -> tuple[int, int]:
    """Return first sample and length of what is compared; raise if there is nothing in common."""
    start = max(before.start, after.start)
    length = min(before.start + before.length, after.start + after.length) - start
    if length < 1:
        raise ValueError("the two takes have no moment in common: groups cannot be carried over")
    n = min(length, round(SECONDS * sample_rate))
    return start + (length - n) // 2, n
