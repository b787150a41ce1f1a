"""Unmix one file and show the progress."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from phinmf.cli.grouping import lines
from phinmf.cli.progress import Bar
from phinmf.cli.signals import handled
from phinmf.cli.text import shown

if TYPE_CHECKING:
    from phinmf.cli.request import Request
    from phinmf.unmixing.record import FolderRecord


def unmix_one(asked: Request, quiet: bool, on_cluster: bool = False) -> FolderRecord:
    """Unmix one file into its folder."""
    from phinmf.fit.automatic import AUTO
    from phinmf.report.folder import write_report
    from phinmf.unmixing.estimates import expected
    from phinmf.unmixing.folder import unmix_file

    folder = asked.output.folder
    name = shown(asked.path.name)
    expectation = expected(
        asked.recording, asked.options, learns=asked.model is None, page=asked.page
    )
    with Bar(name, quiet, expectation) as bar, patient(bar):
        bar.say(f"{name}: {asked.recording.sound}")
        bar.say(f"{name}: {expectation}")
        record = unmix_file(
            asked.recording, asked.output, asked.options, model=asked.model,
            on_cluster=on_cluster, group=asked.groups, callback=bar.learning,
            progress=bar.writing, finish=bar.page(write_report) if asked.page else None,
        )  # fmt: skip
        seconds, K = bar.forecast.seconds, len(record.components)
        if asked.model is None and asked.options.n_components == AUTO:
            bar.say(f"{name}: {K} components found")
        bar.say(f"{name}: {record.adds_up}")
        for line in lines(folder, record):
            bar.say(f"{name}: {line}")
        bar.say(f"{name}: {K} components in {shown(folder)}, {seconds:.0f} s")
        if asked.page:
            bar.say(f"{name}: listen to {shown(folder / 'report.html')}")
    return record


@contextmanager
def patient(bar: Bar) -> Iterator[None]:
    """Let the first Ctrl-C end learning, and the second one interrupt; ignore later ones."""
    leave = signal.getsignal(signal.SIGINT)

    def ask(number: int, frame: FrameType | None) -> None:
        if bar.stopped and callable(leave):
            bar.left = True  # a library may catch what is raised here: then the bar raises it again
            leave(number, frame)
        bar.stopped = True  # the bar prints it: printing is not safe inside a signal handler

    with handled([signal.SIGINT], ask):
        yield
