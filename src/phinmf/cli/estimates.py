"""Estimates of how long each stage of an unmixing takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from phinmf.cli.request import Request


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


def expected(asked: Request) -> Expectation:
    """Estimate the seconds of each stage from the speed of this machine."""
    from phinmf.arrays import threads
    from phinmf.audio.frames import frame_count
    from phinmf.fit.automatic import AUTO
    from phinmf.unmixing import forecast
    from phinmf.unmixing.learn import enough_frames
    from phinmf.unmixing.options import window_length

    source, options = asked.recording, asked.options
    M = window_length(options.window, source.sample_rate)
    N = frame_count(source.length, M)
    atoms = forecast.likely_atoms(options.n_atoms, M)
    size = forecast.Size(M, N, source.channels, options.likely_components, atoms)
    speed = forecast.measured_speed(options.n_threads)
    few = size._replace(N=min(size.N, enough_frames(M, source.channels, atoms)))
    learning = 0.0
    if asked.model is None:
        work = forecast.learning(few, transform=options.solver is not None)
        if options.n_components == AUTO:
            work = work + forecast.counting(few)
        learning = speed.seconds(work)
        learning = min(learning, options.max_time or learning)
    page = speed.seconds(forecast.page(size, source.sample_rate)) if asked.page else 0.0
    stages = Stages(learning, speed.seconds(forecast.writing(size)), page)
    n = min(options.n_threads or threads.available(), threads.available())
    where = f"on {n} CPU thread{'s' if n > 1 else ''}"
    if options.device is not None and asked.model is None:
        where += f", less the time that {options.device} saves"
    return Expectation(stages, where)
