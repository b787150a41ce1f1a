"""A folder of components: its names, checked before any work; how it is written, and read."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import soundfile

import phinmf
from phinmf._types import Array, Indices
from phinmf.audio import files
from phinmf.audio.files import Sound
from phinmf.audio.sample_format import SampleFormat, check_holds, sample_format_for
from phinmf.audio.sources import Source
from phinmf.audio.writing import Stems
from phinmf.unmixing import ownership
from phinmf.unmixing.mix import folded
from phinmf.unmixing.model import UnmixModel, model_for
from phinmf.unmixing.null_test import Measured, measure
from phinmf.unmixing.options import Output, Plain
from phinmf.unmixing.overview import Overview
from phinmf.unmixing.preview import Preview, preview_of
from phinmf.unmixing.progress import CHECKING, Progress, no_progress
from phinmf.unmixing.record import ComponentRecord, FolderRecord
from phinmf.unmixing.separate import separate
from phinmf.unmixing.similarity import similarity, spectra_of
from phinmf.unmixing.sums import component_sounds

LONGEST_NAME = 240  #: bytes of a file name


@dataclass(frozen=True)
class Origin:
    """Where a recording and its model come from; the default is memory."""

    sample_format: SampleFormat  #: of the recording
    sound: Sound | None = None
    start: int = 0  #: first sample that is unmixed
    options: dict[str, Plain] | None = None
    model: str | None = None  #: name of the file of a model that was used
    learning: float | None = None  #: seconds

    @property
    def lossless(self) -> bool:
        """Whether its samples are those of a file or an array, and not decoded."""
        return self.sound is None or self.sample_format.lossless


@dataclass(frozen=True, eq=False)
class UnmixedFolder:
    """A folder of components, and what a page about it is made from."""

    path: Path
    record: FolderRecord
    model: UnmixModel
    preview: Preview


def write_folder(
    folder: Path,
    source: Source,
    model: UnmixModel,
    output: Output,
    origin: Origin,
    *,
    n_threads: int | None = None,
    progress: Progress = no_progress,
) -> FolderRecord:
    """Separate a recording into an empty folder.

    The recording is read twice: to separate it, and to compare it with what was written. `folder`
    will be called `output.folder`; the record that is returned names the strongest component first.
    """
    start = time.perf_counter()
    sample_format = format_of(output, source, origin.sample_format)
    names = component_files(output, model.K, sample_format)
    unsorted = [folder / f".{k}{sample_format.suffix}" for k in range(model.K)]
    stems, H = write_components(
        unsorted, sample_format, source, model, output, origin, n_threads, progress
    )
    written = time.perf_counter()
    overview = Overview(model.K, source.length)
    measured = measure(
        stems, source.blocks(), lambda share: progress(CHECKING, share), n_threads, overview
    )
    source.check_unchanged()
    order = np.argsort(-measured.energies, kind="stable")
    for name, k in zip(names, order, strict=True):
        os.rename(unsorted[k], folder / name)
    model = model.in_order(order)
    model.save(folder / ownership.MODEL)
    overview.in_order(order).save(folder / ownership.OVERVIEW)
    seconds = {"streaming": written - start, "checking": time.perf_counter() - written}
    if origin.learning is not None:
        seconds = {"learning": origin.learning, **seconds}
    record = FolderRecord(
        track=folder.name,
        source=origin.sound and replace(origin.sound, path=Path(origin.sound.path.name)),
        start=origin.start,
        length=source.length,
        options=origin.options,
        model=origin.model,
        components=component_records(names, measured, order),
        format=sample_format.format,
        subtype=sample_format.subtype,
        gain_db=output.gain,
        exact=measured.exact and not output.gain and origin.lossless,
        null_test=measured.null_test,
        similarity=similarity(
            H[order], spectra_of(model), measured.channels[order], source.sample_rate
        )
        .round(4)
        .tolist(),
        window=model.M,
        objective=model.history[-1].target_objective if len(model.history) else None,
        n_iter=len(model.history),
        stop_reason=model.stop_reason,
        n_atoms=model.n_atoms,
        energy=model.energy,
        clipped=clipped(stems, measured),
        seconds=seconds,
        versions=versions(),
    )
    return ownership.write(folder, record, add=[*names, ownership.MODEL, ownership.OVERVIEW])


def write_components(
    paths: list[Path],
    sample_format: SampleFormat,
    source: Source,
    model: UnmixModel,
    output: Output,
    origin: Origin,
    n_threads: int | None,
    progress: Progress,
) -> tuple[Stems, Array]:
    """Write the components in the order of the model; return the files, and the activations."""
    fine = sample_format.subtype in ("DOUBLE", "PCM_32")
    stems = Stems(
        paths, sample_format, source.sample_rate, source.channels,
        tags={} if origin.sound is None else origin.sound.tags,
        gain=10 ** (output.gain / 20), where=output.folder,
    )  # fmt: skip
    with stems:
        H = separate(
            source, model, stems, n_threads=n_threads,
            dtype=np.float64 if fine else np.float32,  # whose 24 bits are all that is written
            progress=progress,
        )  # fmt: skip
    return stems, H


def component_records(
    names: list[str], measured: Measured, order: Indices
) -> list[ComponentRecord]:
    """Return what result.json says about the components, the strongest first."""
    energies = [float(measured.energies[k]) for k in order]
    peaks = [float(measured.peaks[k]) for k in order]
    total = float(measured.energies.sum())
    return [
        ComponentRecord(
            file=name,
            share=energy / total if total else 0.0,
            rms_db=decibels(energy / max(measured.samples, 1), 10),
            peak_db=decibels(peak, 20),
        )
        for name, energy, peak in zip(names, energies, peaks, strict=True)
    ]


def decibels(value: float, factor: int) -> float | None:
    """Return the level of a power (factor 10) or an amplitude (20); None for silence."""
    return round(factor * float(np.log10(value)), 2) if value > 0 else None


def clipped(stems: Stems, measured: Measured) -> int | None:
    """Return how many samples of the components were clipped; None if nothing was lost.

    Without a gain, a component may be beyond full scale now and then: the others then make up for
    it, and the sum is still the recording.
    """
    made_up = stems.gain <= 1 and (measured.exact or measured.rounded)
    return None if made_up else stems.clipped or None


def folder_for(above: Path, recording: Path) -> Path:
    """Return the folder for the components of a recording, which has its name."""
    if recording.stem.strip(". ") == "":
        raise ValueError(
            f"{recording} has no name that a folder can have: rename it, for example to"
            f" song{recording.suffix or '.wav'}"
        )
    return above / recording.stem


def format_of(output: Output, source: Source, own: SampleFormat) -> SampleFormat:
    """Return the format of the files; `own` is that of the recording, which is the default."""
    samples = source.length * source.channels
    sample_format = sample_format_for(own, samples, output.format, output.subtype)
    check_holds(sample_format, source.channels, source.sample_rate)
    return sample_format


def component_files(
    output: Output, K: int, sample_format: SampleFormat, groups: Iterable[str] = ()
) -> list[str]:
    """Return the names of the files of K components; those of `groups` must be others."""
    names = [output.file_name(k, K) + sample_format.suffix for k in range(1, K + 1)]
    if len({folded(name) for name in names}) < len(names):
        raise ValueError(
            f"filename is {output.filename!r}, which gives several components the same name: add"
            " {number}"
        )
    check_names([*names, *group_files(groups, sample_format)])
    return names


def group_files(groups: Iterable[str], sample_format: SampleFormat) -> list[str]:
    """Return the names of the files of groups."""
    return [f"{name}{sample_format.suffix}" for name in groups]


def check_names(names: list[str]) -> None:
    """Raise if two files would have the same name on some disk, or a name is too long."""
    own = (ownership.LISTING, ownership.MODEL, ownership.PAGE, ownership.OVERVIEW)
    taken = {folded(name): name for name in own}
    for name in names:
        if (other := taken.get(folded(name))) is not None:
            raise ValueError(
                f"two files would have the same name, {other} and {name}: choose another name for"
                " one of them (some disks do not distinguish capital letters)"
            )
        if len(os.fsencode(name)) > LONGEST_NAME:
            raise ValueError(f"the file name {name[:40]}… is too long: choose a shorter one")
        taken[folded(name)] = name


def read_folder(path: Path) -> UnmixedFolder:
    """Read a folder that was written before, at most the preview of each component."""
    record = ownership.read(path)
    sounds = component_sounds(path, record)
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
