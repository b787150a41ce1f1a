"""What will be written, and where: found possible before any work is done."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from phinmf.audio.files import Sound
from phinmf.audio.writing import Encoding, encoding_for
from phinmf.unmixing import ownership, placing

TEMPLATE = "component_{number:02d}"
LONGEST = 240  #: bytes of a file name
MOST_GAIN = 60.0  #: dB


@dataclass(frozen=True)
class Output:
    """Where the parts of a file go, and as what."""

    folder: Path
    format: str | None = None
    subtype: str | None = None
    filename: str = TEMPLATE
    gain: float = 0.0  #: dB, the same for all parts
    overwrite: bool = False
    keep: tuple[Path, ...] = ()  #: files that are read: a folder that holds them is not replaced


class Plan(NamedTuple):
    """What will be written."""

    output: Output
    encoding: Encoding
    names: list[str]  #: of the components' files


def folder_for(above: Path, recording: Path) -> Path:
    """The folder for the parts of a recording, which has its name."""
    if recording.stem.strip(". ") == "":
        raise ValueError(
            f"{recording} has no name that a folder could have: rename it, for example to"
            f" song{recording.suffix or '.wav'}"
        )
    return above / recording.stem


def planned(output: Output, sound: Sound, length: int, K: int, groups: Iterable[str] = ()) -> Plan:
    """Raise, before any work is done, if the folder, the format or the names cannot be."""
    final = output.folder
    if not abs(output.gain) <= MOST_GAIN:
        raise ValueError(
            f"gain is {output.gain}, but a number from -{MOST_GAIN:g} to {MOST_GAIN:g} of decibels"
            " is needed"
        )
    if os.path.lexists(final):
        if not output.overwrite:
            raise placing.taken(final)
        ownership.replaceable(final, output.keep)
    try:
        with placing.workshop(final) as bench:
            (bench / placing.NEW / final.absolute().name).mkdir()
    except OSError as error:
        if error.errno is None:
            raise
        raise PermissionError(
            f"{final} cannot be written ({error.strerror}): choose another folder"
        ) from None
    encoding = encoding_for(sound, length, output.format, output.subtype)
    names = [named(output.filename, final.name, k + 1) + encoding.suffix for k in range(K)]
    if len({one_case(name) for name in names}) < len(names):
        raise ValueError(
            f"filename is {output.filename!r}, which gives several components the same name: add"
            " {number}"
        )
    check_names([*names, *group_files(groups, encoding)])
    return Plan(output, encoding, names)


def group_files(groups: Iterable[str], encoding: Encoding) -> list[str]:
    """Names of the files of groups."""
    return [f"{name}{encoding.suffix}" for name in groups]


def named(template: str, track: str, number: int) -> str:
    """A file name from a template; it stays in its folder."""
    try:
        wide = re.search(r"\{[^}]*\d{4}", template)  # a field of that many places
        name = "" if wide else template.format(track=track, number=number)
    except (KeyError, IndexError, ValueError, AttributeError, TypeError):
        name = ""
    if name in ("", ".", "..") or any(c in name for c in "/\\\0"):
        raise ValueError(
            f"filename is {template!r}, but a name without folders is needed, such as"
            f" {TEMPLATE} or {{track}}-{{number}}"
        )
    return name


def check_names(names: list[str]) -> None:
    """Raise if two files would have the same name on some disk, or a name is too long."""
    seen = {one_case(name): name for name in (ownership.LISTING, ownership.MODEL, ownership.PAGE)}
    for name in names:
        if (other := seen.get(one_case(name))) is not None:
            raise ValueError(
                f"two files would have the same name, {other} and {name}: choose another name for"
                " one of them (disks that do not tell capital letters apart see one name)"
            )
        if len(os.fsencode(name)) > LONGEST:
            raise ValueError(f"the file name {name[:40]}… is too long: choose a shorter one")
        seen[one_case(name)] = name


def one_case(name: str) -> str:
    """A name as a disk sees it that tells neither cases nor ways to write an accent apart."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
