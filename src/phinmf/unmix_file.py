"""From a sound file to a folder of its components, which appears complete or not at all."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from phinmf.arrays.precision import torch_device
from phinmf.audio.files import Excerpt
from phinmf.report.folder import write_report
from phinmf.result import Callback
from phinmf.unmixing import groups as groupings
from phinmf.unmixing.folder import Origin, component_files, format_of, read_folder, write_folder
from phinmf.unmixing.groups import Grouping
from phinmf.unmixing.learn import learn
from phinmf.unmixing.model import model_for
from phinmf.unmixing.options import Output, UnmixOptions
from phinmf.unmixing.placing import check_free, new_folder
from phinmf.unmixing.progress import PAGE, Progress, no_progress
from phinmf.unmixing.record import FolderRecord


@dataclass(frozen=True)
class Request:
    """One recording, or a stretch of it, what to do with it, and where to write."""

    recording: Excerpt
    output: Output
    options: UnmixOptions
    model: Path | None = None  #: a model that is used instead of learning one
    groups: Grouping | None = None  #: groups of components that are written as well
    page: bool = True  #: whether a page is written

    @property
    def path(self) -> Path:
        """The sound file."""
        return self.recording.sound.path

    @property
    def inputs(self) -> tuple[Path, ...]:
        """Files that are read: a folder that holds one of them is not replaced."""
        own = [self.path] if self.model is None else [self.path, self.model]
        return (*self.output.keep, *own)


def unmix_file(
    request: Request, callback: Callback | None = None, progress: Progress = no_progress
) -> FolderRecord:
    """Unmix a sound file into a folder, and return what its result.json says.

    The callback gets a `State` after each outer iteration, and stops learning by returning True.
    """
    recording, output, options = request.recording, request.output, request.options
    saved = None
    if request.model is not None:
        saved = model_for(request.model, recording.sample_rate)
    check_request(request, options.likely_components if saved is None else saved.K)
    with new_folder(output.folder, output.overwrite, request.inputs) as new:
        start = time.perf_counter()
        model = learn(recording, options, callback, progress) if saved is None else saved
        origin = Origin(
            recording.sound.sample_format,
            sound=recording.sound,
            start=recording.first,
            options=options.plain(),
            model=None if request.model is None else request.model.name,
            learning=time.perf_counter() - start,
        )
        record = write_folder(
            new, recording, model, output, origin, n_threads=options.n_threads, progress=progress
        )
        if request.groups is not None:
            record = groupings.regroup(new, request.groups)
        if request.page:
            progress(PAGE, 0.0)
            record = write_report(read_folder(new))
    return record


def check_request(request: Request, K: int) -> None:
    """Raise, before any work is done, if K components cannot be written as is requested."""
    recording, output, options = request.recording, request.output, request.options
    if request.model is None:
        groupings.check_known(request.groups, options)
    sample_format = format_of(output, recording, recording.sound.sample_format)
    if options.device not in (None, "cpu"):
        torch_device(options.device)
    component_files(output, K, sample_format, groupings.names(request.groups, K))
    check_free(output.folder, output.overwrite, request.inputs)
