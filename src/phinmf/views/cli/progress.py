"""Progress on a terminal as a bar, elsewhere a line for every tenth."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TimeRemainingColumn

LEARNING = 0.8  #: share of the bar for learning, before streaming
USUAL_STEPS = 100
FINISHING = "Finishing with what has been learned so far; Ctrl-C again leaves nothing behind."


class Bar(AbstractContextManager["Bar"]):
    """What is going on with one file: stage, objective, time left."""

    def __init__(self, name: str, quiet: bool, learns: bool = True) -> None:
        self.name = name
        self.quiet = quiet
        self.share = LEARNING if learns else 0.0
        self.console = Console(file=sys.stderr, highlight=False)
        self.bar: Progress | None = None
        self.shown, self.steps = 0, 0
        self.stopped = self.answered = False  #: by Ctrl-C, once
        self.left = False  #: by Ctrl-C, twice
        self.clock = time.perf_counter()
        if self.console.is_terminal and not quiet:
            columns = ("{task.description}", BarColumn(), "{task.percentage:3.0f} %",
                       TimeRemainingColumn(), "{task.fields[note]}")  # fmt: skip
            self.bar = Progress(*columns, console=self.console, transient=True)
            self.task = self.bar.add_task(f"{name}: learning", total=1.0, note="")

    def __enter__(self) -> Bar:
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.bar is not None:
            self.bar.stop()

    def learning(self, state: Any) -> bool:
        """After each outer iteration; True once Ctrl-C has been pressed."""
        self.steps += 1
        done = 1 - 0.5 ** (self.steps / USUAL_STEPS)  # how many there will be is not known
        self.show("learning", self.share * done, f"objective {state.objective:.5g}")
        return self.stopped

    def streaming(self, done: float) -> None:
        """After each block."""
        self.show("writing", self.share + (1 - self.share) * done, "")

    def show(self, stage: str, share: float, note: str) -> None:
        """Draw, or print a line for the next tenth; and answer to Ctrl-C."""
        if self.left:
            raise KeyboardInterrupt
        if self.stopped and not self.answered:
            self.answered = True
            self.say(FINISHING)
        if self.bar is not None:
            self.bar.update(
                self.task, completed=share, description=f"{self.name}: {stage}", note=note
            )
        elif not self.quiet and int(10 * share) > self.shown:
            self.shown = int(10 * share)
            seconds = time.perf_counter() - self.clock
            self.console.print(f"{self.name}: {10 * self.shown} %, {stage}, {seconds:.0f} s {note}")

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        if not self.quiet:
            self.console.print(text, markup=False, soft_wrap=True)
