"""``phinmf unmix``: files in, folders of components out."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path

from phinmf import checks
from phinmf.audio import files
from phinmf.audio.files import Excerpt
from phinmf.cli.options import ReferenceText, as_text, parsed, ranges, reference, spelled
from phinmf.cli.progress import progress_of
from phinmf.cli.terminal import Failures, note
from phinmf.errors import InvalidValue, UserError, sentence
from phinmf.report.folder import refresh_report
from phinmf.unmix_file import check_request, unmix_file
from phinmf.unmixing import listing, null_test
from phinmf.unmixing.folder import folder_for
from phinmf.unmixing.groups import regroup
from phinmf.unmixing.listing import FolderRecord
from phinmf.unmixing.marks import Marks, read_marks
from phinmf.unmixing.mix import Group, Grouping
from phinmf.unmixing.options import Output, Request, UnmixOptions
from phinmf.unmixing.references import Reference, resampled

PREVIEW = 30.0  #: seconds
MAX_SPARSITY = 1e9  #: within the range of single precision


def unmix(typed: argparse.Namespace) -> int:
    """Unmix every file; options are checked against all of them before the first one begins."""
    try:
        groups, options, output = checked(typed)
        sounds = [reference(text) for text in typed.like]
        marks = None if typed.marks is None else read_marks(typed.marks)
    except UserError as error:
        typed.refuse(spelled(str(error)))
    failures = Failures(typed.debug)
    folders, recordings = sorted_inputs(typed.files, groups is not None, failures)
    requests = checked_requests(recordings, typed, groups, options, output, sounds, marks, failures)
    say = (lambda text: None) if typed.quiet else note
    results: list[tuple[Path, FolderRecord]] = []
    if groups is not None:
        for folder in folders:
            with failures.reported(folder):
                results.append((folder, regrouped(folder, groups, say)))
    for path, request in requests.items():
        with failures.reported(path):
            results.append((request.output.folder, unmixed(path, request, typed.quiet, say)))
    if typed.json:
        content = [{"folder": str(folder), **record.to_json()} for folder, record in results]
        print(json.dumps(content, indent=2))  # in ASCII, which every terminal and program reads
    return 1 if failures.number else 0


def checked(typed: argparse.Namespace) -> tuple[Grouping | None, UnmixOptions, Output]:
    """Return what was typed; raise, or exit, if it cannot be meant for any recording."""
    values = vars(typed)
    options, output = (
        {field.name: values[field.name] for field in fields(kind) if field.name in values}
        for kind in (UnmixOptions, Output)
    )
    checks.number("sparsity", values.get("sparsity", 0), 0, most=MAX_SPARSITY)
    checks.number("start", typed.start)
    if typed.duration is not None:
        checks.number("duration", typed.duration, strict=True)
    groups: Grouping | None = typed.groups
    if typed.group is not None:
        groups = parsed("; ".join(typed.group))
    elif groups is not None:
        checks.count("groups", groups, 1)
    if typed.group is not None and typed.groups is not None:
        typed.refuse("--group and --groups do not go together: leave one of them out")
    if typed.preview and (typed.start or typed.duration):
        typed.refuse("--preview chooses its own --start and --duration")
    return groups, UnmixOptions(**options), Output(typed.output / "track", **output)


def sorted_inputs(
    names: list[str], grouped: bool, failures: Failures
) -> tuple[list[Path], list[Path]]:
    """Return the finished folders among the inputs, and the recordings in the others."""
    folders: list[Path] = []
    recordings: list[Path] = []
    for name in names:
        with failures.reported(None):
            if not name:
                raise InvalidValue("the name of an input is empty: give a sound file or a folder")
            path = Path(name)
            if not (path / "result.json").exists():
                recordings += files.sound_files(path) if path.is_dir() else [path]
            elif grouped:
                folders.append(path)
            else:
                raise InvalidValue(
                    f"{path} has been written by phinmf unmix: give the recording to unmix it"
                    ' again, or add --group "drums=1,4 bass=2" or --groups 3 to add its'
                    " components up"
                )
    return folders, recordings


def checked_requests(
    recordings: list[Path],
    typed: argparse.Namespace,
    groups: Grouping | None,
    options: UnmixOptions,
    output: Output,
    sounds: list[ReferenceText],
    marks: Marks | None,
    failures: Failures,
) -> dict[Path, Request]:
    """Open recordings and check that the options fit them; report those that they do not fit."""
    requests: dict[Path, Request] = {}
    writers: dict[Path, Path] = {}  #: recordings by the folder that is written
    for path in dict.fromkeys(recordings):
        with failures.reported(path):
            whole = files.excerpt(path)
            recording, folder = stretch_of(whole, typed), folder_for(typed.output, path)
            references = [referenced(whole, text) for text in sounds]
            request = Request(
                recording, replace(output, folder=folder), options, typed.model, groups,
                references, marks, page=not typed.no_report,
                others=(
                    *map(Path, typed.files),
                    *(text.file for text in sounds if text.file),
                    *([] if typed.marks is None else [typed.marks]),
                ),
            )  # fmt: skip
            check_request(request)
            if (other := writers.setdefault(folder, path)) != path:
                raise InvalidValue(
                    f"{path} would be written to {folder}, as {other} is: unmix it by itself, with"
                    " another --output"
                )
            requests[path] = request
    return requests


def referenced(recording: Excerpt, text: ReferenceText) -> Reference:
    """Open a reference sound, which may be a stretch of the whole recording."""
    sound = recording if text.file is None else files.excerpt(text.file)
    if text.span is not None:
        first, last = text.span
        if last > sound.sound.seconds:
            raise InvalidValue(
                f"{text.name} ends at {last:g} s, but {sound.sound.path} is"
                f" {sound.sound.seconds:.4g} s long"
            )
        sound = sound.stretch(first, last - first)
    return Reference(text.name, resampled(sound, recording.sample_rate))


def stretch_of(recording: Excerpt, typed: argparse.Namespace) -> Excerpt:
    """Return the part of a recording that the options name."""
    sound = recording.sound
    if typed.preview:
        duration = min(PREVIEW, sound.seconds)
        return recording.stretch((sound.seconds - duration) / 2, duration)
    if typed.start >= sound.seconds:
        raise InvalidValue(
            f"--start is {typed.start:g} s, but the recording is {sound.seconds:.4g} s long"
        )
    return recording.stretch(typed.start, typed.duration)


def unmixed(
    path: Path, request: Request, quiet: bool, say: Callable[[str], object]
) -> FolderRecord:
    """Unmix a recording, show the progress, and say what was written."""
    folder = request.output.folder
    with progress_of(path.name, quiet) as bar:
        bar.say(f"{bar.name}: {request.recording.sound}")
        record = unmix_file(request, bar.stops, bar)
    say(f"{path.name}: {null_test.adds_up(record)}")
    for line in group_lines(folder, record):
        say(f"{path.name}: {line}")
    say(f"{path.name}: {len(record.components)} components in {folder}")
    if request.page:
        say(f"{path.name}: listen to {folder / listing.PAGE}")
    return record


def regrouped(folder: Path, grouping: Grouping, say: Callable[[str], object]) -> FolderRecord:
    """Join the components of a finished folder, write its page again, and say what was done."""
    before = named(listing.read(folder).mix.groups)
    record = regroup(folder, grouping)
    for line in group_lines(folder, record):
        say(f"{folder}: {line}")
    if before and before != named(record.mix.groups):  # they may be the work of hours
        again = f'--group "{as_text(before)}"'
        say(f"{folder}: the earlier groups were replaced; to get them back: {again}")
    page = folder / listing.PAGE
    try:
        if with_page := refresh_report(folder):
            record = with_page
            say(f"{folder}: listen to {page}")
    except (OSError, UserError) as error:  # the groups are complete without it
        say(f"{page} does not show these groups, since it was not written: {sentence(error)}")
    return record


def group_lines(folder: Path, record: FolderRecord) -> Iterator[str]:
    """Yield a line for each group that was written, and one about their sum."""
    for name, group in record.groups.items():
        share = sum(record.components[number - 1].share for number in group.components)
        typed = f"{name}={ranges(group.components)}"
        yield f"{typed}: {100 * share:.0f} % of the energy, {folder / group.file}"
    if record.groups_null_test is not None:
        yield null_test.sentence(
            record.groups_null_test, record.sample_format, "groups", "the components"
        )


def named(groups: list[Group]) -> dict[str, list[int]]:
    """Return the components of each group that is not empty, whatever its colour."""
    return {group.name: sorted(group.components) for group in groups if group.components}
