"""What is asked of one recording, found possible before anything is learned."""

from __future__ import annotations

import argparse
import io
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from phinmf.audio import files
from phinmf.audio.files import Sound
from phinmf.audio.writing import encoding_for
from phinmf.unmixing import groups as groupings
from phinmf.unmixing.learning import Options, check_size, window_length
from phinmf.unmixing.planning import TEMPLATE, Output, folder_for, planned

PREVIEW = 30.0  #: seconds


class Request(NamedTuple):
    """One recording, what to do with which part of it, and where to write."""

    path: Path
    sound: Sound
    start: float  #: seconds
    duration: float  #: seconds
    how: Options
    output: Output
    groups: Any  #: names with numbers of components, a number of groups, or None
    model: Path | None
    page: bool  #: whether a page is written

    @property
    def length(self) -> int:
        """Samples to be taken apart."""
        return max(1, round(self.duration * self.sound.sample_rate))


def request(path: Path, options: argparse.Namespace, groups: Any) -> Request:
    """Look at a recording and check the options against it."""
    sound = files.probe(path)
    start, duration = part_of(sound, options)
    how = Options(
        n_components=options.components,
        window=options.window,
        solver=None if options.fixed_transform else options.solver,
        init=options.init,
        seed=options.seed,
        max_time=options.max_time,
        n_threads=options.threads,
        device=options.device,
        **({} if options.sparsity is None else {"sparsity": options.sparsity}),
    )
    output = Output(
        folder_for(options.output, path),
        format=options.format,
        subtype=options.subtype,
        filename=options.filename or TEMPLATE,
        gain=options.gain,
        overwrite=options.overwrite,
        keep=tuple(map(Path, options.files)),
    )
    asked = Request(
        path, sound, start, duration, how, output, groups, options.model, not options.no_report
    )
    if options.model is None:
        check_window(asked)
        K = how.n_components
    else:
        K = components_of(options.model, sound.sample_rate)
    check_encoding(asked)
    planned(output, sound, asked.length, K, groupings.names(groups, K))
    return asked


@cache
def components_of(model: Path, sample_rate: int) -> int:
    """How many components a model has, read once for all recordings of a sampling rate."""
    from phinmf.unmixing.model_files import load_model

    return load_model(model, sample_rate).K


def part_of(sound: Sound, options: argparse.Namespace) -> tuple[float, float]:
    """First second and number of seconds of the part that is asked for."""
    if options.preview:
        duration = min(PREVIEW, sound.seconds)
        return (sound.seconds - duration) / 2, duration
    if options.start >= sound.seconds:
        raise ValueError(
            f"--start is {options.start:g} s, but the recording is {sound.seconds:.4g} s long"
        )
    rest = sound.seconds - options.start
    return options.start, rest if options.duration is None else min(options.duration, rest)


def check_window(asked: Request) -> None:
    """Refuse windows and numbers of components that do not fit the part that is asked for."""
    rate, length = asked.sound.sample_rate, asked.length
    M = window_length(asked.how.window, rate)
    if length < M:
        raise ValueError(
            f"--window {asked.how.window} is {M} samples, but the recording, or the part of it that"
            f" is asked for, has {length} ({1000 * length / rate:.3g} ms): choose a shorter one"
        )
    check_size(asked.how, length, rate)


def check_encoding(asked: Request) -> None:
    """Refuse a format that does not hold so many channels at such a rate."""
    import soundfile

    sound, output = asked.sound, asked.output
    encoding = encoding_for(sound, asked.length, output.format, output.subtype)
    try:
        soundfile.SoundFile(
            io.BytesIO(), "w", sound.sample_rate, sound.channels, encoding.subtype,
            format=encoding.format,
        ).close()  # fmt: skip
    except soundfile.LibsndfileError:
        raise ValueError(
            f"--format {encoding.format} {encoding.subtype} does not hold {sound.channels}"
            f" channel{'s' if sound.channels > 1 else ''} at {sound.sample_rate} Hz: choose another"
        ) from None
