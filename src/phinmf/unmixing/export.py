"""Take away what a listener has put together: groups, components or a mix, as new files."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from phinmf._types import Array
from phinmf.audio import FLOATS, SampleFormat, Sound
from phinmf.errors import InvalidValue
from phinmf.unmixing import listing
from phinmf.unmixing.folder import component_sounds
from phinmf.unmixing.listing import FolderRecord, NullTest
from phinmf.unmixing.mix import Group, Level, Mix, check_groups, factors, folded, with_rest
from phinmf.unmixing.null_test import adds_up, sentence
from phinmf.unmixing.placing import new_folder
from phinmf.unmixing.reaper import PROJECT, project
from phinmf.unmixing.sums import derived_format, membership, mixed, side_by_side, write_sums

Kind = Literal["groups", "components", "mix"]


@dataclass(frozen=True)
class Exported:
    """Files that were written, and what is to be said about them."""

    files: list[Path]
    message: str


def export(
    folder: Path,
    target: Path,
    kind: Kind = "groups",
    *,
    mix: Mix | None = None,
    without: Sequence[str] = (),
    reaper: bool = False,
    check: Callable[[], object] = lambda: None,
) -> Exported:
    """Write groups, components or a mix of an unmixed folder into a new one, or nothing.

    Groups: a file for each, and one for the rest. Mix: one file with everything at its level.
    Files are numbered, equally long and in the format of the components; groups and components add
    up to them bit for bit. Groups and levels are those that are saved in the folder, unless `mix`
    says others. With names of groups in `without`, one file holds all but these. `reaper` adds a
    project with a track for each group. `check` is called before each block of samples; what it
    raises ends the export.
    """
    if os.path.lexists(target):
        raise FileExistsError(f"{target} exists already: choose another folder")
    record = listing.read(folder)
    chosen = record.mix if mix is None else mix
    sounds = component_sounds(folder, record)
    sample_format = derived_format(record, sounds[0])
    K, channels, ending = len(sounds), sounds[0].channels, sample_format.suffix
    with new_folder(target) as new:
        if kind == "mix":
            gains = factors(chosen.levels or [Level()] * K, channels)[None]
            turned = turned_down(sounds, gains[0], sample_format, check)
            names, gains = [f"mix{ending}"], turned * gains
        else:
            parts = parts_of(K, chosen, kind)
            if without:
                parts = [all_but(without, parts)]
            digits = max(2, len(str(len(parts))))  # so that a folder shows them in this order
            names = [f"{i:0{digits}d} {part.name}{ending}" for i, part in enumerate(parts, 1)]
            gains = membership(parts, K, channels)
        paths = [new / name for name in names]
        test = write_sums(sounds, gains, paths, sample_format, target, check)
        if reaper and kind == "groups":
            text = project(parts, names, chosen, sounds[0].sample_rate, record.length)
            (new / PROJECT).write_text(text, "utf-8")
    written = [*names, PROJECT] if reaper and kind == "groups" else names
    if without:
        message = "1 file with all the rest"
    elif kind != "mix":
        message = summary(record, test, sample_format, len(names))
    elif turned == 1:
        message = "1 file with every component at its level"
    else:
        by = f"{-20 * math.log10(turned):.1f} dB"
        message = f"1 file, turned down by {by} as a whole so as not to clip"
    return Exported([target / name for name in written], message)


def parts_of(K: int, mix: Mix, kind: Kind) -> list[Group]:
    """Return what each file holds: a group, or what is in none, or one component."""
    if kind == "components":
        return [Group("component", [k]) for k in range(1, K + 1)]
    check_groups(mix.groups, K)
    if not mix.has_groups:
        raise InvalidValue("there are no groups yet: put components together first")
    return with_rest(mix.groups, K)


def all_but(names: Sequence[str], groups: list[Group]) -> Group:
    """Return one group of the components of all groups but those of these names."""
    existing = {folded(group.name): group.name for group in groups}
    for name in names:
        if folded(name) not in existing:
            listed = ", ".join(existing.values())
            raise InvalidValue(f"without names {name!r}, but the groups are {listed}")
    out = {folded(name) for name in names}
    rest = [k for group in groups if folded(group.name) not in out for k in group.components]
    if not rest:
        raise InvalidValue("without names all groups, so that nothing is left")
    return Group(f"without {', '.join(names)}", rest)


def summary(record: FolderRecord, test: NullTest, sample_format: SampleFormat, n: int) -> str:
    """Say what n files add up to."""
    files = "1 file that holds" if n == 1 else f"{n} files that add up to"
    if test.exact and record.exact:
        return f"{files} the recording bit for bit"
    count = "1 file" if n == 1 else f"{n} files"
    parts = sentence(test, sample_format, "files", "the components")
    return f"{count}; {parts}, and {adds_up(record)}"


def turned_down(
    sounds: list[Sound], gains: Array, sample_format: SampleFormat, check: Callable[[], object]
) -> float:
    """Return the factor at which a mix fits its file; floating-point files hold any sample."""
    if sample_format.subtype in FLOATS:
        return 1.0
    peak = max(float(np.abs(mixed(blocks, gains)).max()) for blocks in side_by_side(sounds, check))
    most = 1.0 - 2.0 ** (1 - sample_format.bits) if sample_format.bits else 1.0
    return 1.0 if peak <= 1.0 else most / peak
