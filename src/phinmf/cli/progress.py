"""Progress of one file, and signals, which end a command without half-written files.

A handler of signals must not print, and what it raises is lost in code whose exceptions Python or a
library ignores. So a signal is also remembered, and raised again at the next progress.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from phinmf.cli.terminal import shown
from phinmf.unmixing.interrupts import SIGNALS, handled
from phinmf.unmixing.progress import Lines

if TYPE_CHECKING:
    from phinmf.result import State

FINISHING = "Finishing with what has been learned so far; Ctrl-C again leaves nothing behind."


class Ended(BaseException):
    """A signal asked the program to end; unlike Ctrl-C, learning does not catch it."""

    def __init__(self, number: int) -> None:
        self.number, interrupted = number, number == signal.SIGINT
        super().__init__(
            "interrupted" if interrupted else f"ended by {signal.Signals(number).name}"
        )
        self.status = 1 if interrupted else 128 + number  #: exit code


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Raise Ended at the first signal only, so that later ones do not disturb cleaning up."""
    ended = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal ended
        if not ended:
            ended = True
            raise Ended(number)

    with handled(SIGNALS, end):
        try:
            yield
        finally:
            ended = True  # the command has ended: ignore further signals


class Bar:
    """Shows the stage of one file and the share of it that is done; knows of signals.

    On a terminal it is a bar, otherwise a line now and then.
    """

    def __init__(self, name: str, quiet: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self.name, self.quiet = shown(name), quiet
        console = Console(
            file=sys.stderr, markup=False, emoji=False, highlight=False, soft_wrap=True
        )  # prints text as it is
        columns = (TextColumn("{task.description}", markup=False), BarColumn(),
                   TextColumn("{task.percentage:3.0f} %"), TimeRemainingColumn())  # fmt: skip
        off = quiet or not console.is_terminal
        self.bar = Progress(*columns, console=console, transient=True, disable=off)
        self.task = self.bar.add_task(self.name, total=1.0)
        self.lines = Lines(self.name, self.say)
        self.stage = ""
        self.stopped = self.answered = False  #: Ctrl-C was pressed once, and that was acknowledged
        self.ended: int | None = None  #: the signal that ends the command

    def __call__(self, stage: str, share: float) -> None:
        """Draw, or print a line; acknowledge Ctrl-C."""
        if self.ended is not None:
            raise Ended(self.ended)
        if self.stopped and not self.answered:
            self.answered = True
            self.say(f"{self.name}: {FINISHING}")
        if self.bar.disable:
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
            self.bar.console.print(text)


@contextmanager
def progress_of(name: str, quiet: bool) -> Iterator[Bar]:
    """Show a bar; the first Ctrl-C ends learning, the second one and other signals the command."""
    bar = Bar(name, quiet)
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def interrupt(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT and not bar.stopped:
            bar.stopped = True
            return
        bar.ended = bar.ended or number
        handler = before[number]
        if callable(handler):
            handler(number, frame)

    with bar.bar, handled(SIGNALS, interrupt):
        yield bar
