"""Annealing the floor: walls between sign patterns are low at first, and rise as the fit settles.

At a tiny floor every sign pattern of X is walled off by -log x² and holds its own local minimum.
A high floor lets the transform pass, needs few frames to say where to go, and no more than
single precision. So a run begins with a sample of the frames in float32, takes all frames
as the floor falls, and ends at the target floor in the precision of the data. (A small problem
has little to gain from either, and does without.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from phinmf import checks

TIME_SHARE = 0.7  #: of max_time by which the schedule has ended
SINGLE_PAYS = 2**17  #: samples in all frames from which on single precision saves time
SINGLE_SERVES = 1e-9  #: floor down to which single precision tells power from rounding


@dataclass(frozen=True)
class Anneal:
    """A schedule of floors: start · (knee/start)^(progress^shape), then the target at once.

    Parameters
    ----------
    start : float
        First floor, relative to the mean power.
    length : int
        Outer iterations from the start to the knee; compressed when max_iter or max_time is short.
    shape : float
        1 is a geometric schedule; more stays high for longer and falls faster later.
    knee : float
        Floor at which the schedule jumps to the target: below it little changes.
    sample : float
        Frames of the sample, as a multiple of M, used while the floor is above `all_frames`;
        0 uses all frames always.
    all_frames : float
        Floor below which all frames are used.
    """

    start: float = 0.05
    length: int = 40
    shape: float = 2.0
    knee: float = 1e-6
    sample: float = 3.0
    all_frames: float = 2e-3

    def __post_init__(self) -> None:
        for name in ("start", "shape", "knee"):
            checks.number(name, getattr(self, name), 0, strict=True)
        for name in ("sample", "all_frames"):
            checks.number(name, getattr(self, name), 0)
        checks.count("length", self.length, 1)


class Phase(NamedTuple):
    """What one outer iteration works with."""

    floor: float
    high: bool = False  #: the floor is high: more NMF steps pay, and a sample of the frames serves
    n_frames: int | None = None  #: size of the sample; None: all frames
    single: bool = False  #: in single precision
    at_target: bool = False  #: at the target floor, where the stopping rule counts


class Schedule:
    """The phase of each outer iteration.

    `shape` is that of the frames, where a frame of weight 2 counts as two. A sample of frames can
    be drawn only if weights are whole numbers.
    """

    def __init__(
        self,
        anneal: Anneal | None,
        target: float,
        shape: tuple[int, int, int],
        max_iter: int,
        max_time: float | None,
        may_sample: bool = True,
    ) -> None:
        _, M, N = shape
        self.anneal = anneal if anneal and anneal.start > target else None
        self.target = target
        self.max_time = max_time
        self.sample_size: int | None = None
        if self.anneal:
            self.length = max(1, min(self.anneal.length, max_iter - 1 - max_iter // 8))
            n = round(self.anneal.sample * M)
            self.sample_size = n if 0 < n <= N // 2 and may_sample else None
        self.single = math.prod(shape) >= SINGLE_PAYS

    def at(self, iteration: int, seconds: float) -> Phase:
        """The phase of an outer iteration that begins after so many seconds."""
        if not self.anneal:
            return Phase(self.target, at_target=True)
        progress = iteration / self.length
        if self.max_time:
            progress = max(progress, seconds / (TIME_SHARE * self.max_time))
        if progress >= 1:
            return Phase(self.target, at_target=True)
        start = self.anneal.start
        knee = min(start, max(self.anneal.knee, self.target))
        floor = max(start * (knee / start) ** (progress**self.anneal.shape), self.target)
        high = floor > self.anneal.all_frames
        single = self.single and floor > SINGLE_SERVES
        return Phase(floor, high, self.sample_size if high else None, single)
