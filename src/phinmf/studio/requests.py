"""What a page asks for: JSON that is exactly what it should be, and why a request is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TypeVar

from phinmf.errors import InvalidValue
from phinmf.unmixing import typed_json
from phinmf.unmixing.export import Kind
from phinmf.unmixing.marks import Marks, marks_from
from phinmf.unmixing.mix import Group, Level

T = TypeVar("T")


class Refusal(InvalidValue):
    """A request that is not carried out: a sentence for the listener, and a status of HTTP."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class NotFound(Refusal):
    """The request names something that does not exist."""

    def __init__(self, message: str) -> None:
        super().__init__(message, 404)


@dataclass(frozen=True)
class MixRequest:
    """Groups and levels to be saved, and the revision that they change."""

    revision: int
    groups: list[Group]
    levels: list[Level]


@dataclass(frozen=True)
class VersionRequest:
    """How to unmix a recording again."""

    n_components: int | str
    window: str
    seed: int


@dataclass(frozen=True)
class ExportRequest:
    """What to take away; `levels` are those of the page, which may not be saved yet."""

    kind: Kind
    levels: list[Level] | None = None
    without: list[str] = field(default_factory=list)  #: groups that are left out of one file


def marks_in(body: bytes) -> Marks | None:
    """Return the marks that a mix is sent with; refuse bad ones in a sentence about them."""
    marks = json.loads(body).get("marks")
    if marks is None:
        return None
    if not isinstance(marks, dict):
        raise Refusal("marks are not an object with a list of marks")
    return marks_from(marks)


def parsed(kind: type[T], body: bytes) -> T:
    """Read JSON as a dataclass; anything else is refused."""
    try:
        return typed_json.parse(kind, json.loads(body))
    except (ValueError, RecursionError):
        raise Refusal("the page asked for something that the studio does not know") from None
