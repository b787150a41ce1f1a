"""From a sound file to a folder of its components, which appears complete or not at all."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from phinmf.arrays.precision import torch_device
from phinmf.audio.files import Excerpt
from phinmf.errors import InvalidValue
from phinmf.fit.automatic import AUTO
from phinmf.fit.problem import check_length
from phinmf.report.folder import write_report
from phinmf.result import Callback
from phinmf.unmixing.folder import component_files, format_of, read_folder, write_folder
from phinmf.unmixing.groups import Grouping, group_names, regroup
from phinmf.unmixing.learn import fitting, learn
from phinmf.unmixing.listing import FolderRecord
from phinmf.unmixing.model import model_for
from phinmf.unmixing.options import Output, UnmixOptions, window_length
from phinmf.unmixing.placing import check_free, new_folder
from phinmf.unmixing.progress import PAGE, Progress, no_progress


@dataclass(frozen=True)
class Request:
    """One recording, or a stretch of it, what to do with it, and where to write."""

    recording: Excerpt
    output: Output
    options: UnmixOptions
    model: Path | None = None  #: a model that is used instead of learning one
    groups: Grouping | None = None  #: groups of components that are written as well
    page: bool = True  #: whether a page is written
    others: tuple[Path, ...] = ()  #: other recordings: a folder that holds one is not replaced

    @property
    def path(self) -> Path:
        """The sound file."""
        return self.recording.sound.path

    @property
    def inputs(self) -> tuple[Path, ...]:
        """Files that are read: a folder that holds one of them is not replaced."""
        own = (self.path,) if self.model is None else (self.path, self.model)
        return (*self.others, *own)


def unmix_file(
    request: Request, callback: Callback | None = None, progress: Progress = no_progress
) -> FolderRecord:
    """Unmix a sound file into a folder, and return what its result.json says.

    The callback gets a `State` after each outer iteration, and stops learning by returning True.
    """
    recording, output, options = request.recording, request.output, request.options
    check_request(request)
    saved = None
    if request.model is not None:
        saved = model_for(request.model, recording.sample_rate)
    with new_folder(output.folder, output.overwrite, request.inputs) as new:
        start = time.perf_counter()
        model = learn(recording, options, callback, progress) if saved is None else saved
        record = write_folder(
            new, recording, model, output,
            options=options.plain(),
            model_file=None if request.model is None else request.model.name,
            learning=time.perf_counter() - start,
            n_threads=options.n_threads,
            progress=progress,
        )  # fmt: skip
        if request.groups is not None:
            record = regroup(new, request.groups)
        if request.page:
            progress(PAGE, 0.0)
            record = write_report(read_folder(new))
    return record


def check_request(request: Request) -> int:
    """Return the number of components; raise, before any work is done, if it cannot be done."""
    recording, output, options = request.recording, request.output, request.options
    if request.model is None:
        K = check_options(recording, options)
    else:
        K = model_for(request.model, recording.sample_rate).K
    names: list[str] = []
    if request.groups is not None:
        if request.model is None and options.n_components == AUTO:
            raise InvalidValue(
                "n_components is 'auto', so that the components to group are not known yet: unmix"
                " first, then group the components in the folder that is written"
            )
        names = group_names(request.groups, K)
    if options.device not in (None, "cpu"):
        torch_device(options.device)
    component_files(K, format_of(output, recording), names)
    check_free(output.folder, output.overwrite, request.inputs)
    return K


def check_options(recording: Excerpt, options: UnmixOptions) -> int:
    """Return the number of components, or the usual one if they are to be counted.

    Raise if it, the window or the number of atoms does not fit the recording.
    """
    rate, length = recording.sample_rate, recording.length
    M = window_length(options.window, rate)
    if length < M:
        raise InvalidValue(
            f"window is {options.window}, which is {M} samples, but the recording, or the chosen"
            f" part of it, has {length} ({1000 * length / rate:.3g} ms): choose a shorter one"
        )
    check_length(options.n_atoms, M)
    return fitting(options, length, rate).likely_components
