"""How a listener has put components together: named groups, and the level of each component."""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass, field, replace
from itertools import chain, cycle

import numpy as np

from phinmf._types import Array
from phinmf.errors import InvalidValue

LONGEST_NAME = 80  #: characters
MOST_BYTES = 240  #: of a name; with a number before it and an ending, disks take 255
MOST_GAIN, LEAST_GAIN = 24.0, -96.0  #: dB
SILENT = -60.0  #: dB; at this gain and below, nothing is heard
COLOURS = 12  #: of groups on a page
REST = "rest"  #: the group of components that are in no other
NOT_IN_NAMES = '/\\<>:"|?*'  #: some disk or other refuses them in the name of a file
UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  #: categories of characters
PORTS = (f"{port}{n}" for port in ("com", "lpt") for n in range(10))
RESERVED = {"con", "prn", "aux", "nul", *PORTS}  #: names that Windows does not allow


@dataclass(frozen=True)
class Group:
    """Components that a listener joins; they are counted from 1."""

    name: str
    components: list[int]
    colour: int | None = None  #: number of a colour of the page


Grouping = list[Group] | int  #: groups by name, or how many of components that are alike


@dataclass(frozen=True)
class Level:
    """How loud a component is in a mix, and where."""

    gain_db: float = 0.0
    pan: float = 0.0  #: -1 left, 0 as it is, 1 right
    muted: bool = False

    @property
    def gain(self) -> float:
        """The factor of a component that is not moved to a side."""
        silent = self.muted or self.gain_db <= SILENT
        return 0.0 if silent else 10 ** (self.gain_db / 20)

    @property
    def sides(self) -> tuple[float, float]:
        """Return the factors of the left and of the right channel.

        With equal power: the sum of their squares is the same wherever the component is; in the
        centre both are the gain itself.
        """
        if self.pan == 0:
            return self.gain, self.gain
        angle = (1 + self.pan) * math.pi / 4
        most = self.gain * math.sqrt(2)
        return most * math.cos(angle), most * math.sin(angle)


@dataclass(frozen=True)
class Mix:
    """The groups and levels of a folder; `revision` counts how often they were saved."""

    groups: list[Group] = field(default_factory=list)
    levels: list[Level] = field(default_factory=list)  #: of each component, or empty: as they are
    revision: int = 0

    @property
    def has_groups(self) -> bool:
        """Whether any component is in a group."""
        return any(group.components for group in self.groups)

    def coloured(self) -> list[Group]:
        """Return the groups, each with a colour: its own, or the first that no other has."""
        used = {group.colour for group in self.groups}
        free = chain((c for c in range(COLOURS) if c not in used), cycle(range(COLOURS)))
        return [
            replace(group, colour=next(free)) if group.colour is None else group
            for group in self.groups
        ]


def factors(levels: list[Level], channels: int) -> Array:
    """Return the factor (K, channels) of each component in each channel of the mix.

    A mono recording becomes stereo as soon as one component is not in the centre. Channels beyond
    the second one have the gain alone.
    """
    sides = np.array([level.sides for level in levels])
    if channels == 1:
        return sides if any(level.pan != 0 for level in levels) else sides[:, :1]
    gains = np.array([[level.gain] * (channels - 2) for level in levels])
    return np.hstack([sides, gains])


def with_rest(groups: list[Group], K: int) -> list[Group]:
    """Return the groups that are not empty, and as "rest" the components that are in none."""
    named = {number for group in groups for number in group.components}
    rest = [number for number in range(1, K + 1) if number not in named]
    return [group for group in groups if group.components] + [Group(REST, rest)] * bool(rest)


def check_mix(mix: Mix, K: int) -> None:
    """Raise ValueError if K components cannot be mixed like this."""
    check_groups(mix.groups, K)
    if len(mix.levels) not in (0, K):
        raise InvalidValue(f"there are {len(mix.levels)} levels, but {K} components")
    for level in mix.levels:
        if not (LEAST_GAIN <= level.gain_db <= MOST_GAIN and -1 <= level.pan <= 1):
            raise InvalidValue(
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
            raise InvalidValue(f"two groups are called {group.name!r}: choose another name")
        names.add(name)
        if group.colour is not None and not 0 <= group.colour < COLOURS:
            raise InvalidValue(
                f"group {group.name!r} has colour {group.colour}, but there are 0 to {COLOURS - 1}"
            )
        for number in group.components:
            if not 1 <= number <= K:
                raise InvalidValue(
                    f"group {group.name!r} names component {number}, but there are 1 to {K}"
                )
            if number in numbers:
                raise InvalidValue(
                    f"component {number} is in two groups, but it can be in one group only"
                )
            numbers.add(number)
    if REST in names and len(numbers) < K:
        left = ", ".join(str(number) for number in range(1, K + 1) if number not in numbers)
        raise InvalidValue(
            f"a group is called {REST}, but that is the name for what is in no group (components"
            f" {left}): choose another name"
        )


def check_name(name: str) -> None:
    """Raise ValueError for a name that a file cannot have on every disk."""
    bad = any(c in NOT_IN_NAMES or unicodedata.category(c) in UNSEEN for c in name)
    edges = name.strip() != name or name[:1] == "." or name[-1:] == "."
    long = len(name) > LONGEST_NAME or len(name.encode(errors="replace")) > MOST_BYTES
    if not name or bad or edges or long or folded(name).split(".")[0] in RESERVED:
        raise InvalidValue(
            f"the name of a group is {name[:LONGEST_NAME]!r}, which files cannot have on every disk"
            f" (at most {LONGEST_NAME} characters, none of {NOT_IN_NAMES}, no space or dot at the"
            " ends): choose another name"
        )


def folded(name: str) -> str:
    """Return a name as a disk sees it that ignores case and the way accents are written."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
