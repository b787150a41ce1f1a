"""Progress of an unmixing: which stage it is in, and the share of that stage that is done."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from phinmf._types import Array

LEARNING, SEPARATING, CHECKING, PAGE = "learning", "separating", "checking", "drawing the page"
PAUSE = 10.0  #: seconds between two lines about the same stage

Progress = Callable[[str, float], object]  #: takes the stage and the share; what it raises ends it


def no_progress(stage: str, share: float) -> None:
    """Show nothing."""


def watched(
    blocks: Iterable[Array], length: int, stage: str, progress: Progress
) -> Iterator[Array]:
    """Yield blocks of samples, and show which share of all `length` samples is done."""
    done = 0
    for block in blocks:
        yield block
        done += len(block)
        progress(stage, done / length)


class Lines:
    """Print a line at each new stage, and every ten seconds while it goes on."""

    def __init__(self, name: str, say: Callable[[str], object]) -> None:
        self.name, self.say = name, say
        self.stage = ""
        self.printed = 0.0  #: when the last line was

    def __call__(self, stage: str, share: float) -> None:
        """Print a line if it is time for one."""
        now = time.monotonic()
        if stage != self.stage or now - self.printed >= PAUSE:
            self.stage, self.printed = stage, now
            self.say(f"{self.name}: {stage}" + (f", {share:.0%} done" if share else ""))
