"""Groups of components in a finished folder: saved with their levels, added up, carried over."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from phinmf._types import Array
from phinmf.audio import SampleFormat, files
from phinmf.audio.files import Sound
from phinmf.audio.writing import Stems
from phinmf.errors import InvalidValue
from phinmf.unmixing import listing
from phinmf.unmixing.folder import component_sounds, derived_format
from phinmf.unmixing.listing import FolderRecord, GroupRecord, NullTest
from phinmf.unmixing.mix import REST, Group, Grouping, Mix, check_groups, check_mix, folded
from phinmf.unmixing.null_test import measure
from phinmf.unmixing.placing import exchange
from phinmf.unmixing.similarity import divide, normalised

AUTOMATIC = "part_{}"  #: names of groups that have none
SECONDS = 30.0  #: of two unmixings that are compared, from the middle of what both have
FRAME = 0.05  #: seconds of a frame of their spectrograms, about


class MixChanged(InvalidValue):
    """Somebody else has saved groups or levels since they were read; `mix` is what is stored."""

    def __init__(self, folder: Path, mix: Mix) -> None:
        super().__init__(f"the groups of {folder} were changed elsewhere: look at them again")
        self.mix = mix


def save_mix(folder: Path, mix: Mix, workplace: Path | None = None) -> FolderRecord:
    """Store groups and levels in result.json, and return what that says now.

    The `revision` of the mix must be the one that is stored, which is 0 if nothing was saved yet;
    otherwise MixChanged is raised. It is stored with the next one. `workplace` is an existing
    folder on the same disk for temporary files, by default the one above `folder`.
    """
    record = listing.read(folder)
    if mix.revision != record.mix.revision:
        raise MixChanged(folder, record.mix)
    check_mix(mix, len(record.components))
    changed = replace(record, mix=replace(mix, revision=mix.revision + 1))
    try:
        with exchange(folder, record, workplace=workplace) as new:
            return listing.write(new, changed, add=[])
    except FileExistsError:
        raise MixChanged(folder, listing.read(folder).mix) from None


def regroup(folder: Path, grouping: Grouping) -> FolderRecord:
    """Add up the components of a finished folder into groups; nothing is learned again.

    The files of the grouping before, if they are as they were written, are replaced. The groups
    are saved with the levels that a listener chose.
    """
    record = listing.read(folder)
    K = len(record.components)
    sounds = component_sounds(folder, record)
    sample_format = derived_format(record, sounds[0])
    targets = group_files(grouping, K, sample_format)
    chosen = alike(record, grouping) if isinstance(grouping, int) else grouping
    groups = with_rest(chosen, K)
    before = [group.file for group in record.groups.values()]
    with exchange(folder, record, replaced_files(folder, before, targets)) as new:
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


def with_rest(groups: list[Group], K: int) -> list[Group]:
    """Return the groups that are not empty, and as "rest" the components that are in none."""
    named = {number for group in groups for number in group.components}
    rest = [number for number in range(1, K + 1) if number not in named]
    return [group for group in groups if group.components] + [Group(REST, rest)] * bool(rest)


def replaced_files(folder: Path, before: list[str], targets: list[str]) -> list[str]:
    """Return the existing files of the grouping before; raise if a user's file is in the way."""
    existing = [name for name in before if os.path.lexists(folder / name)]
    for name in listing.foreign(folder, existing):
        raise FileExistsError(f"{folder / name} was changed since it was written: move it away")
    replaced = {folded(name) for name in existing}
    for name in targets:
        if os.path.lexists(folder / name) and folded(name) not in replaced:
            raise FileExistsError(f"{folder / name} was not written by phinmf: move it away")
    return existing


def write_sums(
    sounds: list[Sound],
    gains: Array,
    paths: list[Path],
    sample_format: SampleFormat,
    where: Path,
    check: Callable[[], object] = lambda: None,
) -> NullTest:
    """Write sums of components, read them again, and return how these add up to the whole.

    `gains` has for each file the factor (K, channels) of each component in each channel. Messages
    name the folder `where`. `check` is called before each block of samples.
    """
    first = sounds[0]
    with Stems(
        paths, sample_format, first.sample_rate, gains.shape[2], tags=first.tags, where=where
    ) as stems:
        for blocks in side_by_side(sounds, check):
            parts = np.stack([mixed(blocks, gain) for gain in gains])
            stems.write(mixed(blocks, gains.sum(axis=0)), parts)
    whole = (mixed(blocks, gains.sum(axis=0)) for blocks in side_by_side(sounds, check))
    return measure(stems, whole).null_test


def membership(groups: list[Group], K: int, channels: int) -> Array:
    """Return the gains (files, K, channels) that make a file of each group."""
    gains = np.zeros((len(groups), K, channels))
    for gain, group in zip(gains, groups, strict=True):
        gain[np.array(group.components) - 1] = 1.0
    return gains


def mixed(blocks: Sequence[Array], gains: Array) -> Array:
    """Return the sum (n, channels) of blocks of components times their gains (K, channels)."""
    out = np.zeros((len(blocks[0]), gains.shape[1]))
    for block, gain in zip(blocks, gains, strict=True):
        if gain.any():
            out += gain * block
    return out


def side_by_side(
    sounds: list[Sound], check: Callable[[], object] = lambda: None
) -> Iterator[tuple[Array, ...]]:
    """Yield blocks of all sound files at the same time; call `check` before each."""
    for blocks in zip(*(files.blocks(sound) for sound in sounds), strict=True):
        check()
        yield blocks


def carried(old: Path, new: Path) -> list[Group]:
    """Return the groups of one folder in the components of another one of the same recording.

    Each new component goes where the old one is that is most like it, which may be in no group.
    Components are alike if they sound at the same times and at the same frequencies.
    """
    groups = [group for group in listing.read(old).mix.groups if group.components]
    if not groups:
        return []
    alike = likeness(old, new)
    nearest = np.where(alike.max(axis=1) > 0, alike.argmax(axis=1) + 1, 0)  # 0: none
    return [
        replace(group, components=(np.flatnonzero(np.isin(nearest, group.components)) + 1).tolist())
        for group in groups
    ]


def likeness(old: Path, new: Path) -> Array:
    """Return the cosine (new, old) of the magnitude spectrograms of components.

    They are compared in the middle of the stretch that both folders have.
    """
    before, after = listing.read(old), listing.read(new)
    first = max(before.start, after.start)
    length = min(before.start + before.length, after.start + after.length) - first
    if length < 1:
        raise InvalidValue("the two takes have no moment in common: groups cannot be carried over")
    sounds = component_sounds(new, after), component_sounds(old, before)
    rate, K = sounds[0][0].sample_rate, len(sounds[0])
    n = min(length, round(SECONDS * rate))
    first += (length - n) // 2
    frame = 2 ** round(np.log2(FRAME * rate))
    products = np.zeros((K + len(sounds[1]),) * 2)
    for blocks in zip(
        *(files.blocks(sound, first - after.start, n) for sound in sounds[0]),
        *(files.blocks(sound, first - before.start, n) for sound in sounds[1]),
        strict=True,
    ):
        X = np.stack([magnitudes(block, frame) for block in blocks])
        products += X @ X.T
    return normalised(products)[:K, K:]


def magnitudes(block: Array, frame: int) -> Array:
    """Return the magnitudes of the spectra of frames that do not overlap, of all channels."""
    padded = np.pad(block, ((0, -len(block) % frame), (0, 0)))
    frames = padded.T.reshape(-1, frame).astype(np.float32) * np.hanning(frame).astype(np.float32)
    return np.abs(np.fft.rfft(frames)).ravel()
