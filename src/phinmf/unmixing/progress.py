"""Progress of an unmixing: which stage it is in, and the share of that stage that is done."""

from __future__ import annotations

import time
from collections.abc import Callable

LEARNING, SEPARATING, CHECKING, PAGE = "learning", "separating", "checking", "drawing the page"
PAUSE = 10.0  #: seconds between two lines about the same stage

Progress = Callable[[str, float], object]  #: takes the stage and the share; what it raises ends it


def no_progress(stage: str, share: float) -> None:
    """Show nothing."""


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
