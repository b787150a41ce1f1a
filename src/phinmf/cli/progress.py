"""Progress of one file: a bar on a terminal, otherwise a line now and then; and Ctrl-C."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from phinmf.cli.signals import Ended
from phinmf.cli.text import plain_console
from phinmf.unmixing.interrupts import handled
from phinmf.unmixing.progress import Lines

if TYPE_CHECKING:
    from phinmf.result import State

FINISHING = "Finishing with what has been learned so far; Ctrl-C again leaves nothing behind."


class Bar:
    """Shows the stage of one file, and the share of it that is done.

    It is printed here that Ctrl-C was pressed, and raised that it was pressed twice: a handler of
    signals must not print, and a library may catch what it raises.
    """

    def __init__(self, name: str, quiet: bool) -> None:
        self.name = name
        self.quiet = quiet
        self.console = plain_console(sys.stderr)
        self.bar: Progress | None = None
        self.lines = Lines(name, self.say)
        self.stage = ""
        self.stopped = self.answered = False  #: Ctrl-C was pressed once, and that was acknowledged
        self.abandoned = False  #: Ctrl-C was pressed twice
        if self.console.is_terminal and not quiet:
            columns = (TextColumn("{task.description}", markup=False), BarColumn(),
                       TextColumn("{task.percentage:3.0f} %"), TimeRemainingColumn())  # fmt: skip
            self.bar = Progress(*columns, console=self.console, transient=True)
            self.task = self.bar.add_task(name, total=1.0)

    def __call__(self, stage: str, share: float) -> None:
        """Draw, or print a line; acknowledge Ctrl-C."""
        if self.abandoned:
            raise Ended(signal.SIGINT)
        if self.stopped and not self.answered:
            self.answered = True
            self.say(f"{self.name}: {FINISHING}")
        if self.bar is None:
            self.lines(stage, share)
            return
        if stage != self.stage:
            self.stage = stage
            self.bar.reset(self.task, description=f"{self.name}: {stage}")
        self.bar.update(self.task, completed=share)

    def stops(self, state: State) -> bool:
        """Return True once Ctrl-C has been pressed: the callback of learning."""
        return self.stopped

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        if not self.quiet:
            self.console.print(text, soft_wrap=True)


@contextmanager
def progress_of(name: str, quiet: bool) -> Iterator[Bar]:
    """Show a bar; the first Ctrl-C ends learning, the second one interrupts, later ones do not."""
    bar = Bar(name, quiet)
    leave = signal.getsignal(signal.SIGINT)

    def interrupt(number: int, frame: FrameType | None) -> None:
        if bar.stopped and callable(leave):
            bar.abandoned = True
            leave(number, frame)
        bar.stopped = True

    if bar.bar is not None:
        bar.bar.start()
    try:
        with handled([signal.SIGINT], interrupt):
            yield bar
    finally:
        if bar.bar is not None:
            bar.bar.stop()
