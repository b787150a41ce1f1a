"""Why a request is refused: a status of HTTP and one sentence."""

from __future__ import annotations


class Refusal(Exception):
    """A request that is not carried out; the sentence is shown to the user."""

    status = 400


class NotFound(Refusal):
    """The request names something that does not exist."""

    status = 404


class Conflict(Refusal):
    """Something that has happened meanwhile, or somebody's files, are in the way."""

    status = 409


class TooLarge(Refusal):
    """The body of a request is larger than its limit."""

    status = 413


class NoSound(Refusal):
    """A file cannot be read as sound."""

    status = 415


class TooSlow(Refusal):
    """The body of a request does not arrive."""

    status = 408


class DiskFull(Refusal):
    """There is no room for a file."""

    status = 507
