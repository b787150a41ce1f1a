"""Unmix one file and show the progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phinmf.cli.grouping import lines
from phinmf.cli.progress import progress_of
from phinmf.cli.text import shown

if TYPE_CHECKING:
    from phinmf.unmix_file import Request
    from phinmf.unmixing.record import FolderRecord


def unmix_one(request: Request, quiet: bool) -> FolderRecord:
    """Unmix one file into its folder, and say what was written."""
    from phinmf.fit.automatic import AUTO
    from phinmf.unmix_file import unmix_file
    from phinmf.unmixing.null_test import adds_up

    folder, name = request.output.folder, shown(request.path.name)
    with progress_of(name, quiet) as bar:
        bar.say(f"{name}: {request.recording.sound}")
        record = unmix_file(request, bar.stops, bar)
        K = len(record.components)
        if request.model is None and request.options.n_components == AUTO:
            bar.say(f"{name}: {K} components found")
        bar.say(f"{name}: {adds_up(record)}")
        for line in lines(folder, record):
            bar.say(f"{name}: {line}")
        bar.say(f"{name}: {K} components in {shown(folder)}")
        if request.page:
            bar.say(f"{name}: listen to {shown(folder / 'report.html')}")
    return record
