"""The bodies of requests: JSON that is exactly what it should be, or one sentence."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TypeVar

from phinmf.studio.refusals import Refusal
from phinmf.unmixing import typed_json
from phinmf.unmixing.mix import Group, Level, Mix

T = TypeVar("T")


@dataclass(frozen=True)
class MixAsked:
    """Groups and levels to be saved, and the revision that they change."""

    revision: int
    groups: list[Group]
    levels: list[Level]

    def mix(self) -> Mix:
        """Return them as they are stored."""
        return Mix(self.groups, self.levels, self.revision)


@dataclass(frozen=True)
class TakeAsked:
    """How to unmix a recording again."""

    n_components: int | str
    window: str
    seed: int
    carry_from: str | None = None


@dataclass(frozen=True)
class ExportAsked:
    """What to take away."""

    kind: str
    levels: list[Level] | None = None


def asked(kind: type[T], body: bytes) -> T:
    """Read JSON as a dataclass; anything else is refused."""
    try:
        return typed_json.parse(kind, json.loads(body))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        raise Refusal("the page asked for something that the studio does not know") from None
