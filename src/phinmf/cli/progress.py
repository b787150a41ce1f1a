"""Progress: a bar on a terminal; otherwise a line for every tenth of the work."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from phinmf.cli.signals import Ended
from phinmf.cli.text import plain_console
from phinmf.unmixing.estimates import Expectation, Forecast, Stages, words

if TYPE_CHECKING:
    from phinmf.result import State

T = TypeVar("T")
FINISHING = "Finishing with what has been learned so far; Ctrl-C again leaves nothing behind."


class Left(ProgressColumn):
    """The column of the seconds that are left."""

    def __init__(self, forecast: Forecast) -> None:
        super().__init__()
        self.forecast = forecast

    def render(self, task: Task) -> Text:
        """Return the time left, and move the bar as time passes."""
        task.completed = self.forecast.share()
        return Text(f"{words(self.forecast.left())} left")


class Bar(AbstractContextManager["Bar"]):
    """Shows the progress of one file: the stage, and the time left."""

    def __init__(self, name: str, quiet: bool, expectation: Expectation | None = None) -> None:
        self.name = name
        self.quiet = quiet
        self.forecast = Forecast(expectation.stages if expectation else Stages(10, 5, 5))
        self.console = plain_console(sys.stderr)
        self.bar: Progress | None = None
        self.stopped = self.answered = False  #: Ctrl-C was pressed once, and that was acknowledged
        self.left = False  #: Ctrl-C was pressed twice
        if self.console.is_terminal and not quiet:
            columns = (TextColumn("{task.description}", markup=False), Left(self.forecast),
                       BarColumn(), TextColumn("{task.percentage:3.0f} %"))  # fmt: skip
            self.bar = Progress(*columns, console=self.console, transient=True)
            self.task = self.bar.add_task(f"{name}: learning", total=1.0)

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

    def learning(self, state: State) -> bool:
        """Show an outer iteration; return True once Ctrl-C has been pressed."""
        self.show("learning", None)
        return self.stopped

    def writing(self, done: float) -> None:
        """Show that a block was written."""
        self.show("writing", done)

    def page(self, write: Callable[[T], object]) -> Callable[[T], None]:
        """Return a function that shows the last stage and writes the page."""

        def shown(folder: T) -> None:
            self.show("page", None)
            write(folder)

        return shown

    def show(self, stage: str, within: float | None) -> None:
        """Draw, or print a line for the next tenth; acknowledge Ctrl-C."""
        if self.left:
            raise Ended(signal.SIGINT)
        if self.stopped and not self.answered:
            self.answered = True
            self.say(f"{self.name}: {FINISHING}")
        line = self.forecast.line(stage, within)
        if self.bar is not None:
            share = self.forecast.share()
            self.bar.update(self.task, completed=share, description=f"{self.name}: {stage}")
        elif line is not None:
            self.say(f"{self.name}: {line}")

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        if not self.quiet:
            self.console.print(text, soft_wrap=True)
