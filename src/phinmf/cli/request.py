"""The request for one recording, checked before anything is learned."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from phinmf.audio import files
from phinmf.audio.files import Excerpt
from phinmf.audio.sample_format import check_holds, sample_format_for
from phinmf.fit.devices import torch_device
from phinmf.fit.few_atoms import check_length
from phinmf.unmixing import groups as groupings
from phinmf.unmixing.groups import Wanted
from phinmf.unmixing.learn import check_size
from phinmf.unmixing.model import model_for
from phinmf.unmixing.options import TEMPLATE, Output, UnmixOptions, window_length
from phinmf.unmixing.planning import folder_for, planned

PREVIEW = 30.0  #: seconds


@dataclass(frozen=True)
class Request:
    """One recording, or a stretch of it, what to do with it, and where to write."""

    recording: Excerpt
    options: UnmixOptions
    output: Output
    groups: Wanted | None
    model: Path | None
    page: bool  #: whether a page is written

    @property
    def path(self) -> Path:
        """The sound file."""
        return self.recording.sound.path


def request(path: Path, typed: argparse.Namespace, groups: Wanted | None) -> Request:
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
    if typed.model is None:
        check_window(recording, options)
        K = options.likely_components
        groupings.check_known(groups, options)
    else:
        K = components_of(typed.model, recording.sample_rate)
        check_number(typed, K)
    check_possible(recording, output, options)
    own = recording.sound.sample_format
    planned(output, recording, own, K, groupings.names(groups, K))
    return Request(recording, options, output, groups, typed.model, page=not typed.no_report)


@cache
def components_of(model: Path, sample_rate: int) -> int:
    """Return the number of components of a model; cached for recordings of one sampling rate."""
    return model_for(model, sample_rate).K


def check_possible(recording: Excerpt, output: Output, options: UnmixOptions) -> None:
    """Raise if the format or the device is not possible here, whether or not the folder exists."""
    own, channels = recording.sound.sample_format, recording.channels
    samples = recording.length * channels
    sample_format = sample_format_for(own, samples, output.format, output.subtype)
    check_holds(sample_format, channels, recording.sample_rate)
    if options.device not in (None, "cpu"):
        torch_device(options.device)


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
