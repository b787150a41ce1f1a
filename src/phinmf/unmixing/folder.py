"""From a recording to a folder of its components, which appears complete or not at all."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import soundfile

import phinmf
from phinmf.audio import files
from phinmf.audio.files import Excerpt, Sound
from phinmf.audio.many_files import lazy_frames
from phinmf.audio.sources import Source
from phinmf.audio.writing import Stems
from phinmf.result import Callback
from phinmf.unmixing import groups, ownership
from phinmf.unmixing.learn import learn
from phinmf.unmixing.levels import component_records
from phinmf.unmixing.model import UnmixModel, model_for
from phinmf.unmixing.null_test import Measured, adds_up, is_lossless, measure
from phinmf.unmixing.options import Output, Plain, UnmixOptions, window_length
from phinmf.unmixing.overview import Overview
from phinmf.unmixing.placing import NEW, put_in_place, workshop
from phinmf.unmixing.planning import Plan, planned
from phinmf.unmixing.preview import Preview, PreviewKeeper, preview_of
from phinmf.unmixing.progress import CHECKING, PAGE, Progress, no_progress
from phinmf.unmixing.record import FolderRecord
from phinmf.unmixing.separate import separate
from phinmf.unmixing.similarity import similarity, spectra_of


@dataclass(frozen=True)
class Origin:
    """Where a recording and its model come from; the default is memory."""

    sound: Sound | None = None
    start: int = 0  #: first sample that is unmixed
    options: dict[str, Plain] | None = None
    model: str | None = None  #: name of the file of a model that was given
    learning: float | None = None  #: seconds


@dataclass(frozen=True, eq=False)
class UnmixedFolder:
    """A folder of components, and what a page about it is made from."""

    path: Path
    record: FolderRecord
    model: UnmixModel
    preview: Preview


Finish = Callable[[UnmixedFolder], object]  #: adds to a folder before that gets its name


def unmix_file(
    recording: Excerpt,
    output: Output,
    options: UnmixOptions,
    *,
    model: Path | None = None,
    on_cluster: bool = False,
    group: groups.Wanted | None = None,
    callback: Callback | None = None,
    progress: Progress = no_progress,
    finish: Finish | None = None,
) -> FolderRecord:
    """Unmix a sound file into a folder.

    Parameters
    ----------
    recording : Excerpt
        The file, or a stretch of it, as `phinmf.audio.files.excerpt` returns it.
    output : Output
        Where to write, and in which format.
    options : UnmixOptions
        How to learn.
    model : path, optional
        File of a model that is used instead of learning one.
    on_cluster : bool
        Learn from all frames, on the workers of the current Dask client.
    group : list of Group or int, optional
        Groups of components that are written as well: by name, or how many.
    callback : callable, optional
        Called with a `State` after each outer iteration; stops learning by returning True.
    progress : callable
        Called with the stage and the share of it that is done.
    finish : callable, optional
        Called with the `UnmixedFolder` before that gets its name, to add a page to it.

    Returns
    -------
    FolderRecord
        What result.json says.
    """
    clock = time.perf_counter()
    sound = recording.sound
    known = None if model is None else model_for(model, sound.sample_rate)
    K = options.likely_components if known is None else known.K
    if known is None:
        groups.check_known(group, options)
    keep = (*output.keep, sound.path, *([] if model is None else [model]))
    output = replace(output, keep=keep)
    plan = planned(output, recording, sound.sample_format, K, groups.names(group, K))
    if known is None:
        frames = None
        if on_cluster:
            M = window_length(options.window, sound.sample_rate)
            frames = lazy_frames(recording, M, np.float32)
        known = learn(recording, options, callback, progress, frames)
        if known.K != K:  # they were counted
            plan = planned(output, recording, sound.sample_format, known.K)
    origin = Origin(
        sound=sound,
        start=recording.first,
        options=options.plain(),
        model=None if model is None else model.name,
        learning=time.perf_counter() - clock,
    )
    return write_folder(
        recording, known, plan, origin, n_threads=options.n_threads, group=group,
        progress=progress, finish=finish,
    )  # fmt: skip


def write_folder(
    source: Source,
    model: UnmixModel,
    plan: Plan,
    origin: Origin,
    *,
    n_threads: int | None = None,
    group: groups.Wanted | None = None,
    progress: Progress = no_progress,
    finish: Finish | None = None,
) -> FolderRecord:
    """Separate a recording into a folder that gets its name when everything is written.

    The recording is read twice: to separate it, and to compare it with what was written.
    """
    clock = time.perf_counter()
    output, sample_format = plan.output, plan.sample_format
    rate, channels = source.sample_rate, source.channels
    with workshop(output.folder) as bench:
        new, unsorted = bench / NEW, bench / "unsorted"
        unsorted.mkdir()
        paths = [unsorted / f"{k}{sample_format.suffix}" for k in range(model.K)]
        fine = sample_format.subtype in ("DOUBLE", "PCM_32")
        tags = {} if origin.sound is None else origin.sound.tags
        gain = 10 ** (output.gain / 20)
        with Stems(
            paths, sample_format, rate, channels, tags=tags, gain=gain, where=output.folder
        ) as stems:
            H = separate(
                source, model, stems, n_threads=n_threads,
                dtype=np.float64 if fine else np.float32,  # whose 24 bits are all that is written
                progress=progress,
            )  # fmt: skip
        written = time.perf_counter()
        keeper = PreviewKeeper(model.K, channels, source.length, rate) if finish else None
        overview = Overview(model.K, source.length)
        measured = measure(
            stems,
            source.blocks(),
            lambda share: progress(CHECKING, share),
            keeper,
            n_threads,
            overview,
        )
        source.check_unchanged()
        order = np.argsort(-measured.energies, kind="stable")
        for name, k in zip(plan.names, order, strict=True):
            os.rename(paths[k], new / name)
        model = model.in_order(order)
        model.save(new / ownership.MODEL)
        overview.in_order(order).save(new / ownership.OVERVIEW)
        seconds = {"streaming": written - clock, "checking": time.perf_counter() - written}
        if origin.learning is not None:
            seconds = {"learning": origin.learning, **seconds}
        record = FolderRecord(
            track=output.folder.absolute().name,
            source=origin.sound and replace(origin.sound, path=Path(origin.sound.path.name)),
            start=origin.start,
            length=source.length,
            options=origin.options,
            model=origin.model,
            components=component_records(plan.names, measured, order),
            format=sample_format.format,
            subtype=sample_format.subtype,
            gain_db=output.gain,
            similarity=similarity(H[order], spectra_of(model), measured.channels[order], rate)
            .round(4)
            .tolist(),
            window=model.M,
            objective=model.history[-1].target_objective if len(model.history) else None,
            n_iter=len(model.history),
            stop_reason=model.stop_reason,
            n_atoms=model.n_atoms,
            energy=model.energy,
            null_test_db=measured.null_db if np.isfinite(measured.null_db) else None,
            adds_up=adds_up(measured, origin.sound, output.gain),
            exact=measured.exact and not output.gain and is_lossless(origin.sound),
            clipped=clipped(stems, measured),
            seconds=seconds,
            versions=versions(),
        )
        record = ownership.write(
            new, record, add=[*plan.names, ownership.MODEL, ownership.OVERVIEW]
        )
        if group is not None:
            record = groups.regroup(new, group)
        if finish is not None and keeper is not None:
            progress(PAGE, 0.0)
            finish(UnmixedFolder(new, record, model, keeper.preview.in_order(order)))
        record = ownership.read(new)
        put_in_place(bench, output.folder, output.overwrite, output.keep, output.how_to_overwrite)
    return record


def clipped(stems: Stems, measured: Measured) -> int | None:
    """Return how many samples of the components were clipped; None if nothing was lost.

    Without a gain, a component may be beyond full scale now and then: the others then make up for
    it, and the sum is still the recording.
    """
    made_up = stems.gain <= 1 and (measured.exact or measured.rounded)
    return None if made_up else stems.clipped or None


def read_folder(path: Path) -> UnmixedFolder:
    """Read a folder that was written before, at most the preview of each component."""
    record = ownership.read(path)
    sounds = [files.probe(ownership.inside(path, one.file)) for one in record.components]
    if record.length > min(sound.length for sound in sounds):
        raise ownership.damaged(path)
    rate = sounds[0].sample_rate
    start, n = preview_of(record.length, rate)
    samples = [files.read(sound, start, n) for sound in sounds]
    model = model_for(ownership.inside(path, ownership.MODEL), rate)
    return UnmixedFolder(path, record, model, Preview(start, samples))


def versions() -> dict[str, str]:
    """Return the versions of what computed and wrote the files."""
    packages = (phinmf, np, soundfile)
    return {p.__name__: p.__version__ for p in packages} | {"python": platform.python_version()}
