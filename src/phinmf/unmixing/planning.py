"""Names and formats of what will be written, checked before any work is done."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from phinmf.audio.sample_format import SampleFormat, check_holds, sample_format_for
from phinmf.audio.sources import Source
from phinmf.unmixing import ownership
from phinmf.unmixing.mix import folded
from phinmf.unmixing.options import Output

LONGEST_NAME = 240  #: bytes of a file name


def folder_for(above: Path, recording: Path) -> Path:
    """Return the folder for the components of a recording, which has its name."""
    if recording.stem.strip(". ") == "":
        raise ValueError(
            f"{recording} has no name that a folder can have: rename it, for example to"
            f" song{recording.suffix or '.wav'}"
        )
    return above / recording.stem


def format_of(output: Output, source: Source, own: SampleFormat) -> SampleFormat:
    """Return the format of the files; `own` is that of the recording, which is the default."""
    samples = source.length * source.channels
    sample_format = sample_format_for(own, samples, output.format, output.subtype)
    check_holds(sample_format, source.channels, source.sample_rate)
    return sample_format


def component_files(
    output: Output, K: int, sample_format: SampleFormat, groups: Iterable[str] = ()
) -> list[str]:
    """Return the names of the files of K components; those of `groups` must be others."""
    names = [output.file_name(k, K) + sample_format.suffix for k in range(1, K + 1)]
    if len({folded(name) for name in names}) < len(names):
        raise ValueError(
            f"filename is {output.filename!r}, which gives several components the same name: add"
            " {number}"
        )
    check_names([*names, *group_files(groups, sample_format)])
    return names


def group_files(groups: Iterable[str], sample_format: SampleFormat) -> list[str]:
    """Return the names of the files of groups."""
    return [f"{name}{sample_format.suffix}" for name in groups]


def check_names(names: list[str]) -> None:
    """Raise if two files would have the same name on some disk, or a name is too long."""
    own = (ownership.LISTING, ownership.MODEL, ownership.PAGE, ownership.OVERVIEW)
    taken = {folded(name): name for name in own}
    for name in names:
        if (other := taken.get(folded(name))) is not None:
            raise ValueError(
                f"two files would have the same name, {other} and {name}: choose another name for"
                " one of them (some disks do not distinguish capital letters)"
            )
        if len(os.fsencode(name)) > LONGEST_NAME:
            raise ValueError(f"the file name {name[:40]}… is too long: choose a shorter one")
        taken[folded(name)] = name
