"""Marks: a listener says where in time and frequency a sound belongs to a group, or is silent.

A mark is a box, which may reach over all times or all frequencies, or the stroke of a brush. Where
it *belongs* to group g, all other groups are silent; where g is *silent*, the others are not. Marks
become numbers A_g(p, n) in [0, 1] for each group, row of W and frame, 1 where nothing is said:

    v̂ = Σ_g A_g ∘ (W_g H_g) + ε                        components in no group are one group more

A is not 0 but small (`SILENT`): listeners err, and a recording that contradicts a mark may overrule
it. Only without a penalty it is 0, because activations would make up for it at no cost.
Times are seconds of the whole recording, also if a stretch of it is taken apart.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from phinmf._types import Array, Indices, Mask
from phinmf.audio import Source
from phinmf.errors import InvalidValue
from phinmf.linalg.manifold import is_dft
from phinmf.unmixing import typed_json
from phinmf.unmixing.mix import REST, Group, check_groups, check_name, folded, with_rest
from phinmf.unmixing.model import UnmixModel

SILENT = 0.05  #: A of a group that is silent
HEADER = {"program": "phinmf", "kind": "marks", "version": 1}  #: distinguishes the file
LOWEST = 20.0  #: Hz; a brush is as wide in octaves below as it is here
SMALLEST = 1e-6  #: seconds and octaves of a brush
MOST_NEW = 32  #: groups that marks may ask for
MOST_POINTS = 100_000  #: of all strokes and boxes of a file
ROUNDING = 1e-3  #: seconds, or Hz, by which a typed number may be beyond the recording
TINY = 1e-6  #: seconds, or Hz, by which rounding may move the edge of a box
EDGE = 1 + TINY  #: radius of a brush in units of its own

Snap: TypeAlias = Callable[[float], float]  #: to the nearest number of a grid


@dataclass(frozen=True)
class Box:
    """A stretch of time, a band of frequencies, or both."""

    group: str
    start: float = 0.0  #: seconds
    end: float | None = None  #: None: until the recording ends
    low: float = 0.0  #: Hz
    high: float | None = None  #: None: up to the highest frequency
    silent: bool = False  #: whether the group is silent here, instead of alone

    def __post_init__(self) -> None:
        """Refuse what is no box."""
        for names, first, last in (
            ("start and end", self.start, self.end),
            ("low and high", self.low, self.high),
        ):
            if not 0 <= first < (math.inf if last is None else last):
                raise InvalidValue(
                    f"{names} are {first:g} and {last}, but the second must be larger"
                )

    @property
    def corners(self) -> list[tuple[float, float]]:
        """Points (seconds, Hz) that must be inside the recording."""
        return [(self.start, self.low), (self.end or self.start, self.high or self.low)]

    @property
    def span(self) -> tuple[float, float]:
        """First and last second."""
        return self.start, math.inf if self.end is None else self.end

    def inside(self, times: Array, frequencies: Array, snap: Snap) -> Mask:
        """Return which rows and frames (P, n) it covers: at least those nearest to its middle.

        `snap` returns the time of the frame that is nearest to a time.
        """
        rows = between(frequencies, self.low, self.high, partial(nearest, frequencies))
        return rows[:, None] & between(times, self.start, self.end, snap)


@dataclass(frozen=True)
class Stroke:
    """What a brush has touched: an ellipse, moved along straight lines between points."""

    group: str
    points: list[list[float]]  #: seconds and Hz of each
    seconds: float  #: width of the brush
    octaves: float  #: height of the brush
    silent: bool = False  #: whether the group is silent here, instead of alone

    def __post_init__(self) -> None:
        """Refuse what is no stroke."""
        if not self.points or any(
            len(point) != 2 or not all(0 <= x < math.inf for x in point) for point in self.points
        ):
            raise InvalidValue("points are needed, each of seconds and Hz, such as [12.5, 440]")
        if not (SMALLEST <= self.seconds < math.inf and SMALLEST <= self.octaves < math.inf):
            raise InvalidValue(
                f"the brush has {self.seconds:g} seconds and {self.octaves:g} octaves, but at least"
                f" {SMALLEST:g} are needed"
            )

    @property
    def corners(self) -> list[tuple[float, float]]:
        """Points (seconds, Hz) that must be inside the recording."""
        return [(t, f) for t, f in self.points]

    @property
    def span(self) -> tuple[float, float]:
        """First and last second."""
        times = [t for t, _ in self.points]
        return min(times) - self.seconds / 2, max(times) + self.seconds / 2

    def inside(self, times: Array, frequencies: Array, snap: Snap) -> Mask:
        """Return which rows and frames (P, n) it covers: at least those nearest to its points."""
        width, height = self.seconds / 2, self.octaves / 2
        x, y = times / width, octaves(frequencies)[:, None] / height
        corners = [
            (snap(t) / width, float(octaves(nearest(frequencies, f))) / height)
            for t, f in self.points
        ]
        covered = np.zeros((len(frequencies), len(times)), bool)
        for (x0, y0), (x1, y1) in zip(corners, [*corners[1:], corners[-1]], strict=True):
            near = (x >= min(x0, x1) - EDGE) & (x <= max(x0, x1) + EDGE)
            if near.any():
                along = (x[near] - x0) * (x1 - x0) + (y - y0) * (y1 - y0)
                share = np.clip(along / (math.hypot(x1 - x0, y1 - y0) ** 2 or 1.0), 0, 1)
                dx, dy = x[near] - x0 - share * (x1 - x0), y - y0 - share * (y1 - y0)
                covered[:, near] |= np.hypot(dx, dy) <= EDGE
        return covered


Mark: TypeAlias = Box | Stroke


@dataclass(frozen=True)
class Marks:
    """The marks of one recording, as ``marks.json`` has them; later ones overrule earlier ones."""

    sample_rate: int
    length: int  #: samples of the whole recording
    marks: list[Mark] = field(default_factory=list)
    new: list[str] = field(default_factory=list)  #: groups that are made if there are none yet

    @property
    def seconds(self) -> float:
        """Length of the recording."""
        return self.length / self.sample_rate

    def __post_init__(self) -> None:
        """Refuse numbers that cannot be meant."""
        if self.sample_rate < 1 or self.length < 1:
            raise InvalidValue("sample_rate and length must be those of the recording")
        if len(self.new) > MOST_NEW:
            raise InvalidValue(f"{len(self.new)} groups are new, but at most {MOST_NEW} can be")
        for name in self.new:
            check_name(name)
        if sum(len(mark.corners) for mark in self.marks) > MOST_POINTS:
            raise InvalidValue(f"marks have more than {MOST_POINTS} points")
        for number, mark in enumerate(self.marks, 1):
            for t, f in mark.corners:
                if t > self.seconds + ROUNDING or f > self.sample_rate / 2 + ROUNDING:
                    raise InvalidValue(
                        f"mark {number} reaches {t:g} s and {f:g} Hz, but the recording has"
                        f" {self.seconds:.4g} s and frequencies up to {self.sample_rate / 2:g} Hz"
                    )

    def check_recording(self, source: Source | Marks) -> None:
        """Raise ValueError if they are not marks of this recording, or of that of other marks."""
        rate = source.sample_rate
        length = source.length if isinstance(source, Marks) else whole_length(source)
        if (self.sample_rate, self.length) != (rate, length):
            raise InvalidValue(
                f"the marks belong to a recording of {self.length} samples at {self.sample_rate}"
                f" Hz, but this one has {length} at {rate} Hz"
            )

    def renewed(self, groups: Sequence[Group]) -> Marks:
        """Return the same marks for other groups: those that do not exist are made."""
        names = {folded(group.name) for group in [*groups, Group(REST, [])]}
        about = dict.fromkeys(mark.group for mark in self.marks)
        return replace(self, new=[name for name in about if folded(name) not in names])

    def to_json(self) -> dict[str, Any]:
        """Return what json.dumps writes; values that say nothing are left out."""
        head = {"sample_rate": self.sample_rate, "length": self.length, "new": self.new}
        return head | {"marks": [brief(mark) for mark in self.marks]}

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write marks.json, a line for each mark."""
        head: dict[str, Any] = HEADER | self.to_json()
        lines = ",\n    ".join(map(json.dumps, head.pop("marks")))
        text = json.dumps(head, indent=2).removesuffix("\n}")
        Path(path).write_text(f'{text},\n  "marks": [\n    {lines}\n  ]\n}}\n', "ascii")


def whole_length(source: Source) -> int:
    """Return the samples of the recording that a source is a stretch of."""
    return source.length if source.sound is None else source.sound.length


def read_marks(path: str | os.PathLike[str]) -> Marks:
    """Return the marks of a file; raise ValueError if it has something else or bad numbers."""
    try:
        content = json.loads(Path(path).read_bytes())
        ours = all(content[key] == value for key, value in HEADER.items())
    except (ValueError, KeyError, TypeError, RecursionError):
        ours = False
    if not ours:
        needed = json.dumps(HEADER).removesuffix("}")
        raise InvalidValue(f"{path} has no marks that can be read: {needed}, ... is needed")
    try:
        return marks_from(content)
    except InvalidValue as error:
        raise InvalidValue(f"{path}: {error}") from None


def marks_from(content: dict[str, Any]) -> Marks:
    """Return marks from what json.loads has read, or raise ValueError."""
    try:
        marks = typed_json.parse(Marks, content | {"marks": []})
    except InvalidValue:
        raise
    except ValueError:
        raise InvalidValue(
            'sample_rate and length of the recording are needed, and "new" is a list of names'
        ) from None
    listed = content.get("marks")
    if not isinstance(listed, list):
        raise InvalidValue("a list of marks is needed")
    return replace(marks, marks=[mark_from(mark, n) for n, mark in enumerate(listed, 1)])


def mark_from(value: object, number: int = 1) -> Mark:
    """Return the mark that a JSON object describes: one that has points is a stroke."""
    kind: type[Mark] = Stroke if isinstance(value, dict) and "points" in value else Box
    names = [field.name for field in fields(kind)]
    if not isinstance(value, dict) or not value.keys() <= set(names):
        raise InvalidValue(f"mark {number} is {value!r:.200}, but it can have {', '.join(names)}")
    try:
        return typed_json.parse(kind, value)
    except InvalidValue as error:
        raise InvalidValue(f"mark {number} cannot be used: {error}") from None
    except ValueError:
        raise InvalidValue(
            f"mark {number} is {value!r:.200}, but a value is missing or of a wrong type"
        ) from None


def brief(mark: Mark) -> dict[str, object]:
    """Return what json.dumps writes of a mark: without values that are the default."""
    usual = {f.name: f.default for f in fields(mark)}
    return {name: value for name, value in asdict(mark).items() if value != usual[name]}


def new_names(marks: Marks, groups: Sequence[Group], K: int) -> dict[str, str]:
    """Return the names of the groups that marks make, by the name as a disk sees it.

    Raise ValueError if a mark is about none of these and none of the groups of K components.
    """
    names = {folded(group.name) for group in with_rest([*groups], K)}
    missing = {folded(name): name for name in marks.new if folded(name) not in names}
    for mark in marks.marks:
        if folded(mark.group) not in names | missing.keys():
            listed = ", ".join(group.name for group in with_rest([*groups], K))
            raise InvalidValue(
                f"a mark is about {mark.group!r}, but the groups are {listed}: to make a new one,"
                ' list its name as "new"'
            )
    return missing


def grouped_with_new(marks: Marks, groups: Sequence[Group], K: int, each: int) -> list[Group]:
    """Return the groups of K components, and new ones of `each` more components; all are checked.

    Raise ValueError if a mark is about none of them.
    """
    check_groups([*groups], K)
    missing = new_names(marks, groups, K)
    for key, name in missing.items():
        if all(mark.silent for mark in marks.marks if folded(mark.group) == key):
            raise InvalidValue(f"no mark says where the new group {name!r} sounds: add one")
    added = [
        Group(name, [*range(K + 1 + i * each, K + 1 + (i + 1) * each)])
        for i, name in enumerate(missing.values())
    ]
    check_groups([*groups, *added], K + each * len(added))
    return [*groups, *added]


@dataclass(frozen=True, eq=False)
class Gains:
    """The A_g of marks, on the rows of W and the frames of a source."""

    marks: Sequence[Mark]
    groups: list[Group]  #: every component is in one of them; the last may be the rest
    frequencies: Array  #: (P,): Hz of each row of W
    first: float  #: seconds of frame 0 in the recording
    step: float  #: seconds between frames
    silent: float  #: A of a group that is silent

    @classmethod
    def of(cls, marks: Marks, model: UnmixModel, source: Source) -> Gains:
        """Return the gains of groups of a model, which has new groups already."""
        groups, rate = with_rest([*model.groups], model.K), source.sample_rate
        grouped_with_new(replace(marks, new=[]), model.groups, model.K, 0)
        step, silent = model.M / 2 / rate, SILENT if model.sparsity else 0.0
        return cls(marks.marks, groups, row_frequencies(model), source.first / rate, step, silent)

    @property
    def parts(self) -> list[Indices]:
        """Components of each group, counted from 0."""
        return [np.array(group.components) - 1 for group in self.groups]

    def touches(self, first: int, n: int) -> bool:
        """Whether a mark may be about any of n frames."""
        start, end = (self.first + self.step * frame for frame in (first - 1, first + n))
        return any(mark.span[0] <= end and mark.span[1] >= start for mark in self.marks)

    def region(self, A: Array | None, group: Group) -> Mask:
        """Return where all groups but one are silent: (P, n)."""
        if A is None:
            return np.zeros((len(self.frequencies), 0), bool)
        g = self.groups.index(group)
        return (A[g] == 1) & (np.delete(A, g, axis=0) < 1).all(axis=0)

    def of_frames(self, first: int, n: int) -> Array | None:
        """Return A (groups, P, n) of n frames from a number on; None if all are 1."""
        if not self.touches(first, n):
            return None
        times = self.first + self.step * np.arange(first, first + n)
        number = {folded(group.name): g for g, group in enumerate(self.groups)}
        A = np.ones((len(self.groups), len(self.frequencies), n), np.float32)
        for mark in self.marks:
            covered = mark.inside(times, self.frequencies, self.snap)
            if not mark.silent:
                A[:, covered] = self.silent
            A[number[folded(mark.group)], covered] = self.silent if mark.silent else 1
        A[:, A.max(axis=0) < 1] = 1  # marks that silence all groups contradict each other
        return None if (A == 1).all() else A

    def snap(self, t: float) -> float:
        """Return the time of the frame that is nearest."""
        return self.first + self.step * round((t - self.first) / self.step)


def runs(A: Array) -> list[slice]:
    """Return the stretches of frames in which A (groups, P, n) does not change."""
    changes = (A[..., 1:] != A[..., :-1]).any(axis=(0, 1))
    ends = [*(np.flatnonzero(changes) + 1).tolist(), A.shape[-1]]
    return [slice(a, b) for a, b in zip([0, *ends], ends, strict=False)]


def row_frequencies(model: UnmixModel) -> Array:
    """Return the frequency in Hz of each row of W: where the spectrum of its atoms is largest."""
    P = len(model.W)
    if is_dft(model.Phi) and 2 * P == model.M:
        bins = np.arange(P)
    else:
        power = np.square(np.abs(np.fft.rfft(model.Phi)))
        bins = power.reshape(P, -1, power.shape[1]).sum(axis=1).argmax(axis=1)
    return bins * model.sample_rate / model.M


def between(values: Array, low: float, high: float | None, snap: Snap) -> Mask:
    """Return which values are between two numbers, or else the one nearest to their middle."""
    high = math.inf if high is None else high
    middle = snap((low + high) / 2 if high < math.inf else low)
    inside = (values >= low - TINY) & (values <= high + TINY)
    return inside | (np.abs(values - middle) <= TINY)


def nearest(values: Array, x: float) -> float:
    """Return the value that is nearest to a number."""
    return float(values[np.abs(values - x).argmin()])


def octaves(frequencies: Array | float) -> Array:
    """Return how many octaves frequencies are above the lowest that matters."""
    return np.log2(np.maximum(frequencies, LOWEST) / LOWEST)
