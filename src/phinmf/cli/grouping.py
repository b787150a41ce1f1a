"""Groups on the command line: how they are typed, written into a folder, and said."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from phinmf.cli.text import shown
from phinmf.unmixing.mix import Group

if TYPE_CHECKING:
    from phinmf.unmixing.groups import Grouping
    from phinmf.unmixing.record import FolderRecord

NUMBER = r"\d{1,5}(?:\s*-\s*\d{1,5})?"
ITEM = re.compile(rf"([^=,;]+)=\s*({NUMBER}(?:\s*,\s*{NUMBER})*)\s*(?:[,;]\s*|(?<=\s)|$)")
FORGOTTEN_COMMA = re.compile(r"[\d\s-]+(\s|$)")
EXAMPLE = '"drums=1,4-6 lead guitar=2"'


def parsed(text: str) -> list[Group]:
    """Read "drums=1,4-6 lead guitar=2": names with numbers of components, counted from 1.

    A name reaches from the group before it to its "="; groups are separated by spaces, "," or ";".
    """
    groups: list[Group] = []
    position = 0
    while position < len(text) or not groups:
        item = ITEM.match(text, position)
        if item is None:
            raise ValueError(
                f"group is {text!r}, but names with numbers of components are needed, such"
                f" as {EXAMPLE}"
            )
        name = item[1].strip()
        if groups and text[:position].rstrip()[-1] not in ",;" and FORGOTTEN_COMMA.match(name):
            raise ValueError(
                f"group is {text!r}, in which {name!r} is the name of a group: write commas between"
                " numbers, or ; before a name that begins with a number"
            )
        groups.append(Group(name, numbers(item[2], text)))
        position = item.end()
    return groups


def numbers(listed: str, text: str) -> list[int]:
    """Return the numbers of "1,4-6"."""
    members: list[int] = []
    for item in listed.split(","):
        first, _, last = (part.strip() for part in item.partition("-"))
        if int(last or first) < int(first):
            raise ValueError(f"group is {text!r}, but {item} counts down: write {last}-{first}")
        members.extend(range(int(first), int(last or first) + 1))
    return members


def regrouped(folder: Path, grouping: Grouping, quiet: bool) -> FolderRecord:
    """Join the components of a finished folder, write its page again, and say what was done."""
    from phinmf.report.folder import refresh_report
    from phinmf.unmixing import ownership
    from phinmf.unmixing.groups import regroup
    from phinmf.unmixing.saved_mix import stored

    def say(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr)  # standard output is only for results

    before = named(stored(ownership.read(folder)).groups)
    record = regroup(folder, grouping)
    for line in lines(folder, record):
        say(f"{shown(folder)}: {line}")
    if before and before != named(stored(record).groups):  # they may be the work of hours
        again = f'--group "{shown(as_text(before))}"'
        say(f"{shown(folder)}: the earlier groups were replaced; to get them back: {again}")
    page = folder / ownership.PAGE
    if os.path.lexists(page) and ownership.PAGE in record.files:
        try:
            written = refresh_report(folder)
        except (OSError, ValueError) as error:  # the groups are complete without it
            say(f"{shown(page)} does not show these groups, since it was not written: {error}")
            return record
        if written is None:
            say(f"{shown(page)} was changed since it was written, so it does not show these groups")
            return record
        say(f"{shown(folder)}: listen to {shown(page)}")
        return written
    return record


def lines(folder: Path, record: FolderRecord) -> Iterator[str]:
    """Yield a line for each group that was written, and one about their sum."""
    from phinmf.unmixing.null_test import groups_add_up

    for name, group in (record.groups or {}).items():
        share = sum(record.components[number - 1].share for number in group.components)
        components = f"component{'s' * (len(group.components) > 1)} {ranges(group.components)}"
        file = shown(folder / group.file)
        yield f"{shown(name)}: {components}, {100 * share:.0f} % of the energy, {file}"
    if (sentence := groups_add_up(record)) is not None:
        yield sentence


def named(groups: list[Group]) -> dict[str, list[int]]:
    """Return the components of each group that is not empty, whatever its colour."""
    return {group.name: sorted(group.components) for group in groups if group.components}


def as_text(groups: dict[str, list[int]]) -> str:
    """Return groups as they can be typed: drums=1,4-6; lead guitar=2."""
    return "; ".join(f"{name}={ranges(components)}" for name, components in groups.items())


def ranges(components: list[int]) -> str:
    """Return numbers as they can be typed: 1,4-6."""
    words: list[str] = []
    left = sorted(components)
    while left:
        n = next((i for i, number in enumerate(left) if number != left[0] + i), len(left))
        words.append(f"{left[0]}-{left[n - 1]}" if n > 2 else ",".join(map(str, left[:n])))
        left = left[n:]
    return ",".join(words)
