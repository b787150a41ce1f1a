"""Estimates of how long each stage of an unmixing takes, and how much of it is done."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.fft import dct

from phinmf.arrays import threads
from phinmf.audio.frames import frame_count
from phinmf.audio.sources import Source
from phinmf.fit.automatic import AUTO
from phinmf.unmixing import forecast
from phinmf.unmixing.learn import enough_frames, some_frames
from phinmf.unmixing.options import UnmixOptions, window_length

LOOKED_AT = 256  #: frames in which atoms are counted
SURE = 0.8  #: share of a stage that is shown as done by the clock; after that, progress slows down


class Stages(NamedTuple):
    """Seconds of each stage; 0 if it is left out."""

    learning: float
    writing: float
    page: float


class Expectation(NamedTuple):
    """How long an unmixing is expected to take, and where it computes."""

    stages: Stages
    where: str

    def __str__(self) -> str:
        return f"about {words(sum(self.stages))} {self.where}"


def words(seconds: float) -> str:
    """Return a length of time as text, in seconds or minutes."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min"


def expected(
    source: Source, options: UnmixOptions, *, learns: bool = True, page: bool = True
) -> Expectation:
    """Estimate the seconds of each stage from the speed of this machine.

    `learns` is False where a model is given, `page` where no page is written.
    """
    M = window_length(options.window, source.sample_rate)
    N = frame_count(source.length, M)
    atoms = forecast.likely_atoms(options.n_atoms, M)
    size = forecast.Size(M, N, source.channels, options.likely_components, atoms)
    speed = forecast.measured_speed(options.n_threads)
    few = size._replace(N=min(size.N, enough_frames(M, source.channels, atoms)))
    learning = 0.0
    if learns:
        few = few._replace(atoms=counted_atoms(source, options, M))
        work = forecast.learning(few, transform=options.solver is not None)
        if options.n_components == AUTO:
            work = work + forecast.counting(few)
        learning = speed.seconds(work)
        if options.max_time is not None:
            learning = min(learning, options.max_time)
    drawing = speed.seconds(forecast.page(size, source.sample_rate)) if page else 0.0
    stages = Stages(learning, speed.seconds(forecast.writing(size)), drawing)
    n = min(options.n_threads or threads.available(), threads.available())
    where = f"on {n} CPU thread{'s' if n > 1 else ''}"
    if options.device is not None and learns:
        where += f", less the time that {options.device} saves"
    return Expectation(stages, where)


def counted_atoms(source: Source, options: UnmixOptions, M: int) -> int:
    """Return how many atoms will probably be learned: those that some frames need in the DCT."""
    usual = forecast.likely_atoms(options.n_atoms, M)
    if options.solver is None or not isinstance(options.n_atoms, float):
        return usual
    try:
        Y = some_frames(source, M, LOOKED_AT, np.random.default_rng(0))
    except (ValueError, OSError):
        return usual  # learning will say what is wrong with the recording
    powers = np.square(dct(Y, axis=1, norm="ortho")).mean(axis=(0, 2))
    held = np.cumsum(np.sort(powers)[::-1])
    return min(M, int(np.searchsorted(held, options.n_atoms * held[-1])) + 1)


class Forecast:
    """The share of the work that is done and the time left, from the expected time of each stage.

    The share that is done never falls. In learning it follows the clock, since the number of
    iterations is not known; in writing it follows what is written.
    """

    def __init__(self, stages: Stages, clock: Callable[[], float] = time.perf_counter) -> None:
        self.stages = stages
        self.clock = clock
        self.began = clock()
        self.stage, self.stage_began = -1, self.began
        self.within: float | None = None  #: share of the stage that is done, if known
        self.highest = 0.0  #: share that was shown
        self.tenth = 0  #: of the work, of which a line was made

    def at(self, stage: str, within: float | None = None) -> bool:
        """Set the stage, and how much of it is done; return whether the stage is new."""
        number = Stages._fields.index(stage)
        begins = number != self.stage
        if begins:
            self.stage, self.stage_began = number, self.clock()
        self.within = within
        return begins

    def line(self, stage: str, within: float | None = None, words_for: str = "") -> str | None:
        """Set the stage; return a line to print at each new stage and tenth of the work, or None.

        `words_for` is what the stage is called in the line.
        """
        begins, tenth = self.at(stage, within), int(10 * self.share())
        if not begins and tenth <= self.tenth:
            return None
        self.tenth = tenth
        return f"{10 * tenth} %, {words_for or stage}, {words(self.left())} left"

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return self.clock() - self.began

    def stage_left(self) -> float:
        """Return the seconds that the stage still takes."""
        spent, planned = self.clock() - self.stage_began, self.stages[max(0, self.stage)]
        if self.within:  # the more is done, the more the measured time counts
            measured = spent * (1 - self.within) / self.within
            return self.within * measured + (1 - self.within) * max(0.0, planned - spent)
        if spent <= SURE * planned:
            return planned - spent
        over = spent / max(planned, 1e-9) - SURE
        return planned * (1 - SURE) * math.exp(-over / (1 - SURE))

    def left(self) -> float:
        """Return the seconds until the end."""
        return self.stage_left() + sum(self.stages[max(0, self.stage) + 1 :])

    def share(self) -> float:
        """Return how much is done, 0 to 1; never less than before."""
        now = self.seconds / max(self.seconds + self.left(), 1e-9)
        self.highest = max(self.highest, min(now, 0.99))
        return self.highest
