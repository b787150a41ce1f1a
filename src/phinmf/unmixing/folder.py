"""A folder of components: its names, checked before any work; how it is written."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import soundfile

import phinmf
from phinmf._types import Components, Indices
from phinmf.audio import SampleFormat, Sound, Source, files
from phinmf.audio.writing import Stems, check_holds, sample_format_for
from phinmf.errors import InvalidValue
from phinmf.unmixing import listing
from phinmf.unmixing.listing import ComponentRecord, FolderRecord
from phinmf.unmixing.mix import Mix
from phinmf.unmixing.model import UnmixModel, model_for
from phinmf.unmixing.null_test import Measured, measure
from phinmf.unmixing.options import Output, Request
from phinmf.unmixing.overview import Overview
from phinmf.unmixing.progress import CHECKING, Progress, no_progress, watched
from phinmf.unmixing.separate import separate
from phinmf.unmixing.similarity import similarity, spectra_of

IN_MEMORY = SampleFormat("WAV", "FLOAT")  #: of the components of an array


def write_folder(
    folder: Path,
    request: Request,
    model: UnmixModel,
    learning: float,
    progress: Progress = no_progress,
) -> FolderRecord:
    """Separate a recording into an empty folder, which will have the name that is requested.

    The recording is read twice: to separate it, and to compare it with what was written. The
    seconds of learning are recorded. The record that is returned names the strongest component
    first.
    """
    start = time.perf_counter()
    source, n_threads = request.recording, request.options.n_threads
    stems, sound = stems_of(folder, request, model.K), source.sound
    sample_format = stems.sample_format
    fine = sample_format.subtype in ("DOUBLE", "PCM_32")  # others hold at most 24 bits
    dtype = np.float64 if fine else np.float32
    with stems:
        H = separate(
            source, model, stems, n_threads=n_threads, dtype=dtype, progress=progress,
            marks=request.marks,
        )  # fmt: skip
    written = time.perf_counter()
    overview = Overview(model.K, source.length)
    recording = watched(source.blocks(), source.length, CHECKING, progress)
    measured = measure(stems, recording, n_threads, overview)
    source.check_unchanged()
    order = np.argsort(-measured.energies, kind="stable")
    digits = max(2, len(str(model.K)))
    names = [f"component_{k:0{digits}d}{sample_format.suffix}" for k in range(1, model.K + 1)]
    for name, k in zip(names, order, strict=True):
        os.rename(stems.paths[k], folder / name)
    model = model.sorted(order)
    model.save(folder / listing.MODEL)
    overview.save(folder / listing.OVERVIEW, order)
    seconds = {"streaming": written - start, "checking": time.perf_counter() - written}
    if request.model is None:
        seconds = {"learning": learning} | seconds
    in_memory = isinstance(request.model, UnmixModel)
    lossless = sound is None or sound.sample_format.lossless
    alike = similarity(H[order], spectra_of(model), measured.channels[order], source.sample_rate)
    record = FolderRecord(
        track=folder.name,
        source=sound and replace(sound, path=Path(sound.path.name)),
        start=source.first,
        length=source.length,
        options=None if in_memory else request.options.plain(),
        model=request.model.name if isinstance(request.model, Path) else None,
        components=component_records(names, measured, order),
        format=sample_format.format,
        subtype=sample_format.subtype,
        exact=measured.exact and lossless,
        null_test=measured.null_test,
        mix=Mix([*model.groups]),
        similarity=alike.round(4).tolist(),
        window=model.M,
        objective=model.history[-1].target_objective if len(model.history) else None,
        n_iter=len(model.history),
        stop_reason=model.stop_reason,
        n_atoms=model.n_atoms,
        energy=model.energy,
        seconds=seconds,
        versions={p.__name__: p.__version__ for p in (phinmf, np, soundfile)}
        | {"python": platform.python_version()},
    )
    added = [*names, listing.MODEL, listing.OVERVIEW]
    if request.marks is not None:
        request.marks.write(folder / listing.MARKS)
        added.append(listing.MARKS)
    return listing.write(folder, record, add=added)


def stems_of(folder: Path, request: Request, K: int) -> Stems:
    """Return the files of K components, which are not open yet and are not sorted yet."""
    source, output = request.recording, request.output
    sample_format = format_of(output, source)
    return Stems(
        [folder / f".{k}{sample_format.suffix}" for k in range(K)],
        sample_format,
        source.sample_rate,
        source.channels,
        tags={} if source.sound is None else source.sound.tags,
        where=output.folder,
    )


def component_records(
    names: list[str], measured: Measured, order: Indices
) -> list[ComponentRecord]:
    """Return what result.json says about the components, the strongest first."""
    total = float(measured.energies.sum()) or 1.0
    energies, peaks = measured.energies[order].tolist(), measured.peaks[order].tolist()
    return [
        ComponentRecord(
            file=name,
            share=energy / total,
            rms_db=decibels(energy / max(measured.samples, 1), 10),
            peak_db=decibels(peak, 20),
        )
        for name, energy, peak in zip(names, energies, peaks, strict=True)
    ]


def decibels(value: float, factor: int) -> float | None:
    """Return the level of a power (factor 10) or an amplitude (20); None for silence."""
    return round(factor * float(np.log10(value)), 2) if value > 0 else None


def folder_for(above: Path, recording: Path) -> Path:
    """Return the folder for the components of a recording, which has its name."""
    if recording.stem.strip(". ") == "":
        raise InvalidValue(
            f"{recording} has no name that a folder can have: rename it, for example to"
            f" song{recording.suffix or '.wav'}"
        )
    return above / recording.stem


def format_of(output: Output, source: Source) -> SampleFormat:
    """Return the format of the files, by default that of the recording; check that it fits."""
    own = IN_MEMORY if source.sound is None else source.sound.sample_format
    samples = source.length * source.channels
    sample_format = sample_format_for(own, samples, output.format, output.subtype)
    check_holds(sample_format, source.channels, source.sample_rate)
    return sample_format


def model_of(
    source: UnmixModel | str | os.PathLike[str],
    sample_rate: int,
    n_components: Components | None = None,
) -> UnmixModel:
    """Return a model, the one in a file, or that of a folder with the groups that it has now."""
    if not isinstance(source, (str, os.PathLike)) or not os.path.isdir(source):
        return model_for(source, sample_rate, n_components)
    folder = Path(source)
    groups = listing.read(folder).mix.groups
    model = model_for(listing.inside(folder, listing.MODEL), sample_rate, n_components)
    return replace(model, groups=tuple(group for group in groups if group.components))


def component_sounds(folder: Path, record: FolderRecord) -> list[Sound]:
    """Return the files of the components; raise if they do not belong together."""
    sounds = [
        files.probe(listing.inside(folder, component.file)) for component in record.components
    ]
    first = sounds[0]
    if first.length < record.length:
        raise listing.damaged(folder)
    for sound in sounds:
        if (sound.length, sound.channels) != (first.length, first.channels):
            raise InvalidValue(
                f"{sound.path} is not as long as {first.path}, or has other channels"
            )
    return sounds
