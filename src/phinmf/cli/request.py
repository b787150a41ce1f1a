"""The request for one recording, checked before anything is learned."""

from __future__ import annotations

import argparse
from functools import cache
from pathlib import Path

from phinmf.audio import files
from phinmf.audio.files import Excerpt
from phinmf.fit.few_atoms import check_length
from phinmf.unmix_file import Request, check_request
from phinmf.unmixing.groups import Wanted
from phinmf.unmixing.learn import check_size
from phinmf.unmixing.model import model_for
from phinmf.unmixing.options import TEMPLATE, Output, UnmixOptions, window_length
from phinmf.unmixing.planning import folder_for

PREVIEW = 30.0  #: seconds


def checked_request(path: Path, typed: argparse.Namespace, groups: Wanted | None) -> Request:
    """Open a recording and check that the options fit it."""
    recording = stretch_of(files.excerpt(path, typed.salvage), typed)
    options = UnmixOptions(
        n_components=UnmixOptions.n_components if typed.components is None else typed.components,
        window=typed.window,
        sparsity=typed.sparsity,
        n_atoms=typed.atoms,
        solver=None if typed.fixed_transform else typed.solver,
        init=typed.init,
        seed=typed.seed,
        max_time=typed.max_time,
        n_threads=typed.threads,
        device=typed.device,
    )
    output = Output(
        folder_for(typed.output, path),
        format=typed.format,
        subtype=typed.subtype,
        filename=typed.filename or TEMPLATE,
        gain=typed.gain,
        overwrite=typed.overwrite,
        keep=tuple(map(Path, typed.files)),
    )
    request = Request(recording, output, options, typed.model, groups, page=not typed.no_report)
    if typed.model is None:
        check_window(recording, options)
        K = options.likely_components
    else:
        K = components_of(typed.model, recording.sample_rate)
        check_number(typed, K)
    check_request(request, K)
    return request


@cache
def components_of(model: Path, sample_rate: int) -> int:
    """Return the number of components of a model; cached for recordings of one sampling rate."""
    return model_for(model, sample_rate).K


def check_number(typed: argparse.Namespace, K: int) -> None:
    """Raise if a number of components is asked for that the given model does not have."""
    if typed.components not in (None, K):
        raise ValueError(
            f"-k is {typed.components!r}, but {typed.model} has {K} component{'s' * (K > 1)}: leave"
            " -k out to use what it has, or leave --model out to learn others"
        )


def stretch_of(recording: Excerpt, typed: argparse.Namespace) -> Excerpt:
    """Return the stretch of a recording that is asked for."""
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
            f"--window {options.window} is {M} samples, but the recording, or the part of it that"
            f" is asked for, has {length} ({1000 * length / rate:.3g} ms): choose a shorter one"
        )
    check_size(options, length, rate)
    check_length(options.n_atoms, M)
