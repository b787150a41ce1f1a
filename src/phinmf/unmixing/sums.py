"""Sums of components as sound files: each file holds some components, together they hold all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from phinmf._types import Array
from phinmf.audio import files
from phinmf.audio.files import Sound
from phinmf.audio.sample_format import SampleFormat, sample_format_for
from phinmf.audio.writing import Stems
from phinmf.unmixing import ownership
from phinmf.unmixing.null_test import Measured, measure
from phinmf.unmixing.record import FolderRecord

WRITING = 0.6  #: share of the progress; the rest is reading again what was written


def component_sounds(folder: Path, record: FolderRecord) -> list[Sound]:
    """Return the files of the components; raise if they do not belong together."""
    sounds = [files.probe(ownership.inside(folder, one.file)) for one in record.components]
    first = sounds[0]
    for sound in sounds:
        if (sound.length, sound.channels) != (first.length, first.channels):
            raise ValueError(f"{sound.path} is not as long as {first.path}, or has other channels")
    return sounds


def format_of(record: FolderRecord, first: Sound) -> SampleFormat:
    """Return the format of files that are made from those of a folder: the same."""
    samples = first.length * first.channels
    return sample_format_for(first.sample_format, samples, record.format, record.subtype)


def write_sums(
    sounds: list[Sound],
    members: list[list[int]],
    paths: list[Path],
    sample_format: SampleFormat,
    where: Path,
    progress: Callable[[float], object] = lambda share: None,
) -> Measured:
    """Add components up into files, read those again, and return how they compare with all.

    Parameters
    ----------
    sounds : list of Sound
        The components.
    members : list of lists of int
        For each file the numbers of its components, counted from 1; each is in one of them.
    paths : list of path
        The files to be written.
    sample_format : SampleFormat
        Their format.
    where : path
        The folder that messages name.
    progress : callable
        Called with the share that is done, 0 to 1.
    """
    first = sounds[0]
    with Stems(
        paths, sample_format, first.sample_rate, first.channels, tags=first.tags, where=where
    ) as stems:
        for blocks in side_by_side(sounds):
            parts = [np.sum([blocks[k - 1] for k in numbers], axis=0) for numbers in members]
            stems.write(total(blocks), np.stack(parts))
            progress(WRITING * stems.length / first.length)
    everything = (total(blocks) for blocks in side_by_side(sounds))
    return measure(stems, everything, lambda share: progress(WRITING + (1 - WRITING) * share))


def side_by_side(sounds: list[Sound]) -> Iterator[tuple[Array, ...]]:
    """Yield blocks of all sound files at the same time."""
    return zip(*(files.blocks(sound) for sound in sounds), strict=True)


def total(blocks: tuple[Array, ...]) -> Array:
    """Return the sum of all components."""
    return sum(blocks, np.zeros_like(blocks[0]))
