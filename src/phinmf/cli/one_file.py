"""Unmix one file and show the progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phinmf.cli.grouping import lines
from phinmf.cli.progress import progress_of
from phinmf.cli.text import shown

if TYPE_CHECKING:
    from phinmf.cli.request import Request
    from phinmf.unmixing.record import FolderRecord


def unmix_one(asked: Request, quiet: bool, on_cluster: bool = False) -> FolderRecord:
    """Unmix one file into its folder."""
    from phinmf.fit.automatic import AUTO
    from phinmf.report.folder import write_report
    from phinmf.unmixing.folder import unmix_file

    folder = asked.output.folder
    name = shown(asked.path.name)
    with progress_of(name, quiet) as bar:
        bar.say(f"{name}: {asked.recording.sound}")
        record = unmix_file(
            asked.recording, asked.output, asked.options, model=asked.model,
            on_cluster=on_cluster, group=asked.groups, callback=bar.stops,
            progress=bar, finish=write_report if asked.page else None,
        )  # fmt: skip
        K = len(record.components)
        if asked.model is None and asked.options.n_components == AUTO:
            bar.say(f"{name}: {K} components found")
        bar.say(f"{name}: {record.adds_up}")
        for line in lines(folder, record):
            bar.say(f"{name}: {line}")
        bar.say(f"{name}: {K} components in {shown(folder)}")
        if asked.page:
            bar.say(f"{name}: listen to {shown(folder / 'report.html')}")
    return record
