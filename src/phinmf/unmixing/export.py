"""Take away what a listener has put together: groups, components or a mix, as new files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from phinmf.audio.sample_format import SampleFormat
from phinmf.unmixing import ownership
from phinmf.unmixing.groups import with_rest
from phinmf.unmixing.mix import Group, Level, Mix, check_groups
from phinmf.unmixing.null_test import adds_up, sentence
from phinmf.unmixing.placing import new_folder
from phinmf.unmixing.record import FolderRecord, NullTest
from phinmf.unmixing.saved_mix import stored
from phinmf.unmixing.sums import component_sounds, format_of, write_mix, write_sums

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
    progress: Callable[[float], object] = lambda share: None,
) -> Exported:
    """Write groups, components or a mix of an unmixed folder into a new one, or nothing.

    Groups: a file for each, and one for the rest. Mix: one file with everything at its level.
    Files are numbered, equally long and in the format of the components; groups and components add
    up to them bit for bit. Groups and levels are those that are saved in the folder, unless `mix`
    says others. What `progress` raises ends the export; it is called with the share that is done.
    """
    if os.path.lexists(target):
        raise FileExistsError(f"{target} exists already: choose another folder")
    record = ownership.read(folder)
    chosen = stored(record) if mix is None else mix
    sounds = component_sounds(folder, record)
    sample_format = format_of(record, sounds[0])
    with new_folder(target) as new:
        if kind == "mix":
            levels = chosen.levels or [Level()] * len(sounds)
            names = [f"mix{sample_format.suffix}"]
            message = write_mix(sounds, levels, new / names[0], sample_format, progress)
        else:
            parts = parts_of(record, chosen.groups, kind)
            names = numbered([part.name for part in parts], sample_format)
            members = [part.components for part in parts]
            paths = [new / name for name in names]
            measured = write_sums(sounds, members, paths, sample_format, target, progress)
            message = summary(record, measured.null_test, sample_format, len(names))
    return Exported([target / name for name in names], message)


def parts_of(record: FolderRecord, groups: Sequence[Group], kind: Kind) -> list[Group]:
    """Return what each file holds: a group, or what is in none, or one component."""
    K = len(record.components)
    if kind == "components":
        return [Group("component", [k]) for k in range(1, K + 1)]
    check_groups(list(groups), K)
    if not any(group.components for group in groups):
        raise ValueError("there are no groups yet: put components together first")
    return with_rest(list(groups), K)


def numbered(names: list[str], sample_format: SampleFormat) -> list[str]:
    """Return names of files that a folder shows in this order."""
    digits = max(2, len(str(len(names))))
    return [f"{i:0{digits}d} {name}{sample_format.suffix}" for i, name in enumerate(names, 1)]


def summary(record: FolderRecord, test: NullTest, sample_format: SampleFormat, n: int) -> str:
    """Say what n files add up to."""
    files = "1 file that holds" if n == 1 else f"{n} files that add up to"
    if test.exact and record.exact:
        return f"{files} the recording bit for bit"
    count = "1 file" if n == 1 else f"{n} files"
    parts = sentence(test, sample_format, "files", "the components")
    return f"{count}; {parts}, and {adds_up(record)}"
