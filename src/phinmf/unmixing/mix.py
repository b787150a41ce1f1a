"""How a listener has put components together: named groups, and the level of each component."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field

LONGEST_NAME = 80  #: characters
MOST_BYTES = 240  #: of a name; with a number before it and an ending, disks take 255
MOST_GAIN, LEAST_GAIN = 24.0, -96.0  #: dB
COLOURS = 12  #: of groups on a page
REST = "rest"  #: the group of components that are in no other
NOT_IN_NAMES = '/\\<>:"|?*'  #: some disk or other refuses them in the name of a file
RESERVED = {
    "con",
    "prn",
    "aux",
    "nul",
    *(f"{port}{n}" for port in ("com", "lpt") for n in range(10)),
}


@dataclass(frozen=True)
class Group:
    """Components that a listener joins; they are counted from 1."""

    name: str
    components: list[int]
    colour: int | None = None  #: number of a colour of the page


@dataclass(frozen=True)
class Level:
    """How loud a component is in a mix, and where."""

    gain_db: float = 0.0
    pan: float = 0.0  #: -1 left, 0 as it is, 1 right
    muted: bool = False


@dataclass(frozen=True)
class Mix:
    """The groups and levels of a folder; `revision` counts how often they were saved."""

    groups: list[Group] = field(default_factory=list)
    levels: list[Level] = field(default_factory=list)  #: of each component, or empty: as they are
    revision: int = 0


def check_mix(mix: Mix, K: int) -> None:
    """Raise ValueError if K components cannot be mixed like this."""
    check_groups(mix.groups, K)
    if len(mix.levels) not in (0, K):
        raise ValueError(f"there are {len(mix.levels)} levels, but {K} components")
    for level in mix.levels:
        if not (LEAST_GAIN <= level.gain_db <= MOST_GAIN and -1 <= level.pan <= 1):
            raise ValueError(
                f"a level has a gain of {level.gain_db:g} dB and a pan of {level.pan:g}, but"
                f" {LEAST_GAIN:g} to {MOST_GAIN:g} dB and -1 to 1 are needed"
            )


def check_groups(groups: list[Group], K: int) -> None:
    """Raise ValueError if a name cannot be that of a file, or a component is in two groups."""
    names: set[str] = set()
    numbers: set[int] = set()
    for group in groups:
        check_name(group.name)
        if (name := folded(group.name)) in names:
            raise ValueError(f"two groups are called {group.name!r}: choose another name")
        names.add(name)
        if group.colour is not None and not 0 <= group.colour < COLOURS:
            raise ValueError(
                f"group {group.name!r} has colour {group.colour}, but there are 0 to 11"
            )
        for number in group.components:
            if not 1 <= number <= K:
                raise ValueError(
                    f"group {group.name!r} names component {number}, but there are 1 to {K}"
                )
            if number in numbers:
                raise ValueError(
                    f"component {number} is in two groups, but it can be in one group only"
                )
            numbers.add(number)
    if REST in names and len(numbers) < K:
        left = [str(number) for number in range(1, K + 1) if number not in numbers]
        are = f"are components {', '.join(left)}" if len(left) > 1 else f"is component {left[0]}"
        raise ValueError(
            f"a group is called {REST}, but that is the name for what is in no group, which"
            f" {are}: choose another name"
        )


def check_name(name: str) -> None:
    """Raise ValueError for a name that a file cannot have on every disk."""
    hidden = any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in name)
    refused = sorted({c for c in name if c in NOT_IN_NAMES})
    edges = ("begins", name[:1]), ("ends", name[-1:])
    if not name.strip():
        problem = "is empty"
    elif refused or hidden:
        problem = f"has {' '.join(refused) or 'characters that cannot be seen'} in it"
    elif ends := [(verb, c) for verb, c in edges if c == "." or c.isspace()]:
        problem = f"{ends[0][0]} with a {'dot' if ends[0][1] == '.' else 'space'}"
    elif len(name) > LONGEST_NAME or len(name.encode()) > MOST_BYTES:
        problem = f"is longer than {LONGEST_NAME} characters, or {MOST_BYTES} bytes"
    elif folded(name).split(".")[0] in RESERVED:
        problem = "is reserved on some systems"
    else:
        return
    raise ValueError(
        f"the name of a group is {name[:LONGEST_NAME]!r}, which {problem}: choose another name"
    )


def folded(name: str) -> str:
    """Return a name as a disk sees it that ignores case and the way accents are written."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
