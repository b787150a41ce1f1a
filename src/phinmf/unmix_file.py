"""From a recording to a folder of its components, which appears complete or not at all."""

from __future__ import annotations

import time

from phinmf.errors import InvalidValue
from phinmf.fit.automatic import AUTO
from phinmf.report.folder import write_report
from phinmf.result import Callback
from phinmf.unmixing.folder import format_of, model_of, write_folder
from phinmf.unmixing.groups import group_files, regroup
from phinmf.unmixing.learn import fitting, learn
from phinmf.unmixing.listing import FolderRecord
from phinmf.unmixing.model import UnmixModel
from phinmf.unmixing.options import Request
from phinmf.unmixing.placing import check_free, new_folder
from phinmf.unmixing.progress import PAGE, Progress, no_progress
from phinmf.unmixing.references import check_number, check_references, groups_of
from phinmf.unmixing.refine import NEW, check_marks, refine


def unmix_file(
    request: Request, callback: Callback | None = None, progress: Progress = no_progress
) -> FolderRecord:
    """Unmix a recording into a folder, and return what its result.json says.

    The callback gets a `State` after each outer iteration, and stops learning by returning True.
    A request that was typed should be checked first (`check_request`): a wrong format or group is
    noticed only after learning.
    """
    recording, output = request.recording, request.output
    with new_folder(output.folder, output.overwrite, request.inputs) as new:
        start = time.perf_counter()
        if request.model is None:
            model = learn(recording, request.options, callback, progress, request.references)
        else:
            model = model_of(request.model, recording.sample_rate, request.options.n_components)
        groups = request.groups
        if request.marks is not None and not isinstance(request.model, UnmixModel):
            n_threads = request.options.n_threads
            model = refine(
                recording, model, request.marks, groups, n_threads=n_threads, progress=progress
            )
            groups = None  # those of the model
        record = write_folder(new, request, model, time.perf_counter() - start, progress)
        if groups := groups or record.mix.groups:
            record = regroup(new, groups)
        if request.page:
            progress(PAGE, 0.0)
            record = write_report(new)
    return record


def check_request(request: Request) -> None:
    """Raise, before any work is done, if the request cannot be fulfilled."""
    recording, output, options = request.recording, request.output, request.options
    check_references(request.references, options.solver, request.model)
    if request.model is None:
        K = fitting(options, recording).likely_components
        check_number(request.references, K)
    else:
        model = model_of(request.model, recording.sample_rate, options.n_components)
        K = model.K
    sample_format = format_of(output, recording)
    if request.marks is not None:
        if request.model is None:
            raise InvalidValue("marks need the model that they improve: --model out/song")
        groups = check_marks(recording, model, request.marks, request.groups)
        group_files(groups, K + NEW * len(request.marks.new), sample_format)
    elif request.groups is not None:
        if request.model is None and options.n_components == AUTO:
            raise InvalidValue(
                "n_components is 'auto', so that the components to group are not known yet: unmix"
                " first, then group the components in the folder that is written"
            )
        group_files(request.groups, K, sample_format)
    elif request.references:
        group_files(groups_of(request.references, K), K, sample_format)
    check_free(output.folder, output.overwrite, request.inputs)
