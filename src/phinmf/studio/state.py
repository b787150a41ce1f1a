"""What the page is told: the whole state of the studio, as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from phinmf.unmixing.mix import Level


@dataclass(frozen=True)
class ComponentState:
    """A component: its number, its share of the energy, its levels, its strongest frequency."""

    number: int
    share: float
    rms_db: float | None
    peak_db: float | None
    hertz: float | None


@dataclass(frozen=True)
class GroupState:
    """A group of components, with its colour."""

    name: str
    colour: int
    components: list[int]


@dataclass(frozen=True)
class TakeState:
    """A take, with the groups and levels that are saved in it."""

    id: str
    name: str
    kind: str
    about: str
    n_components: int | str
    window: str
    seed: int | None
    start: float  #: seconds
    seconds: float
    length: int  #: samples
    sample_rate: int
    channels: int
    first_sample: int
    adds_up: str
    folder: str
    format: str
    components: list[ComponentState]
    revision: int
    groups: list[GroupState]
    levels: list[Level]
    suggestions: list[list[int]]


@dataclass(frozen=True)
class JobState:
    """Work in progress, or work that failed and was not dismissed yet."""

    id: str
    take_name: str
    doing: str
    share: float  #: of what it is doing, that is done
    state: str
    message: str | None


@dataclass(frozen=True)
class RecordingState:
    """A recording with its takes and jobs."""

    id: str
    name: str
    title: str
    about: str
    seconds: float
    again: bool
    takes: list[TakeState]
    jobs: list[JobState]


@dataclass(frozen=True)
class State:
    """Everything that the page shows."""

    version: str
    home: str
    recordings: list[RecordingState]

    def to_json(self) -> str:
        """Return one line of ASCII, in which no character can end a message of an event stream."""
        return json.dumps(asdict(self), allow_nan=False)
