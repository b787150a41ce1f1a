"""How long each stage of an unmixing will take."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from phinmf.cli.request import Request


class Stages(NamedTuple):
    """Seconds of each stage; 0 for one that is left out."""

    learning: float
    writing: float
    page: float


class Expectation(NamedTuple):
    """What is expected of a run, and where it computes."""

    stages: Stages
    where: str

    def __str__(self) -> str:
        return f"about {words(sum(self.stages))} {self.where}"


def words(seconds: float) -> str:
    """A length of time in short."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min"


def expected(asked: Request) -> Expectation:
    """Estimate the stages of a run by the speed of this machine."""
    from phinmf.arrays import threads
    from phinmf.unmixing import estimate
    from phinmf.unmixing.learning import enough_frames, frame_count, window_length

    sound, how = asked.sound, asked.how
    M = window_length(how.window, sound.sample_rate)
    size = estimate.Size(M, frame_count(asked.length, M), sound.channels, how.n_components)
    speed = estimate.measured_speed(how.n_threads)
    few = size._replace(N=min(size.N, enough_frames(M, sound.channels)))
    learning = 0.0
    if asked.model is None:
        learning = speed.seconds(estimate.learning(few, transform=how.solver is not None))
        learning = min(learning, how.max_time or learning)
    page = speed.seconds(estimate.page(size, sound.sample_rate)) if asked.page else 0.0
    stages = Stages(learning, speed.seconds(estimate.writing(size)), page)
    n = min(how.n_threads or threads.available(), threads.available())
    where = f"on {n} CPU thread{'s' if n > 1 else ''}"
    if how.device is not None and asked.model is None:
        where += f", less what {how.device} saves"
    return Expectation(stages, where)
