"""What the inputs of `phinmf unmix` are, and the request for each recording, checked at once."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from dataclasses import fields
from functools import cache
from pathlib import Path

from phinmf.audio import files
from phinmf.audio.files import Excerpt
from phinmf.cli.text import Failures
from phinmf.fit.few_atoms import check_length
from phinmf.unmix_file import Request, check_request
from phinmf.unmixing.folder import folder_for
from phinmf.unmixing.groups import Grouping
from phinmf.unmixing.learn import check_size
from phinmf.unmixing.model import model_for
from phinmf.unmixing.options import Output, UnmixOptions, window_length

PREVIEW = 30.0  #: seconds


def sorted_inputs(
    names: Iterable[str], grouped: bool, failures: Failures
) -> tuple[list[Path], list[Path]]:
    """Return the finished folders among the inputs, and the recordings in the others."""
    folders: list[Path] = []
    recordings: list[Path] = []
    for name in names:
        with failures.reported(None):
            if not name:
                raise ValueError("the name of an input is empty: give a sound file or a folder")
            path = Path(name)
            if (path / "result.json").exists():
                if not grouped:
                    raise ValueError(
                        f"{path} has been written by phinmf unmix: give the recording to unmix it"
                        ' again, or add --group "drums=1,4 bass=2" or --groups 3 to add its'
                        " components up"
                    )
                folders.append(path)
            else:
                recordings += files.found_in(path) if path.is_dir() else [path]
    return folders, recordings


def without_namesakes(recordings: list[Path], output: Path, failures: Failures) -> list[Path]:
    """Return each recording once; of two that would be written to one folder, the first."""
    unique: list[Path] = []
    for path in recordings:
        others = [other for other in unique if other.stem == path.stem and other.exists()]
        if not others or not path.exists():  # a missing file is reported when its turn comes
            unique.append(path)
        elif not os.path.samefile(path, others[0]):
            with failures.reported(None):
                raise ValueError(
                    f"{path} would be written to {output / path.stem}, as {others[0]} is: unmix it"
                    " by itself, with another --output"
                )
    return unique


def checked_request(path: Path, typed: argparse.Namespace, groups: Grouping | None) -> Request:
    """Open a recording and check that the options fit it."""
    recording = stretch_of(files.excerpt(path, typed.salvage), typed)
    values = vars(typed)
    options = UnmixOptions(
        **{f.name: values[f.name] for f in fields(UnmixOptions) if values.get(f.name) is not None}
        | {"n_atoms": typed.n_atoms, "solver": None if typed.fixed_transform else typed.solver}
    )
    output = Output(
        folder_for(typed.output, path),
        keep=tuple(map(Path, typed.files)),
        **{name: values[name] for name in ("format", "subtype", "filename", "gain", "overwrite")},
    )
    request = Request(recording, output, options, typed.model, groups, page=not typed.no_report)
    if typed.model is None:
        check_window(recording, options)
        K = options.likely_components
    else:
        K = components_of(typed.model, recording.sample_rate)
        if typed.n_components not in (None, K):
            raise ValueError(
                f"-k is {typed.n_components!r}, but {typed.model} has {K} component{'s' * (K > 1)}:"
                " leave -k out to use what it has, or leave --model out to learn others"
            )
    check_request(request, K)
    return request


@cache
def components_of(model: Path, sample_rate: int) -> int:
    """Return the number of components of a model; cached for recordings of one sampling rate."""
    return model_for(model, sample_rate).K


def stretch_of(recording: Excerpt, typed: argparse.Namespace) -> Excerpt:
    """Return the part of a recording that the options name."""
    sound = recording.sound
    if typed.preview:
        duration = min(PREVIEW, sound.seconds)
        return recording.stretch((sound.seconds - duration) / 2, duration)
    if typed.start >= sound.seconds:
        raise ValueError(
            f"--start is {typed.start:g} s, but the recording is {sound.seconds:.4g} s long"
        )
    return recording.stretch(typed.start, typed.duration)


def check_window(recording: Excerpt, options: UnmixOptions) -> None:
    """Raise if the window, the number of components or that of atoms does not fit the stretch."""
    rate, length = recording.sample_rate, recording.length
    M = window_length(options.window, rate)
    if length < M:
        raise ValueError(
            f"--window {options.window} is {M} samples, but the recording, or the chosen part of"
            f" it, has {length} ({1000 * length / rate:.3g} ms): choose a shorter one"
        )
    check_size(options, length, rate)
    check_length(options.n_atoms, M)
