"""Sums of components as sound files: groups that add up to all of them, or one mix.

In a mix every component is at its level, and at its place between left and right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from phinmf._types import Array
from phinmf.audio import files
from phinmf.audio.files import Sound
from phinmf.audio.sample_format import FLOATS, SampleFormat, sample_format_for
from phinmf.audio.writing import Stems
from phinmf.unmixing import ownership
from phinmf.unmixing.mix import Level
from phinmf.unmixing.null_test import Measured, measure
from phinmf.unmixing.record import FolderRecord

WRITING = 0.6  #: share of the progress; the rest is reading again what was written
SILENT = -60.0  #: dB; at this gain and below, nothing is heard
LISTENING, WRITING_MIX = 0.4, 0.8  #: shares of the progress when these stages end


def component_sounds(folder: Path, record: FolderRecord) -> list[Sound]:
    """Return the files of the components; raise if they do not belong together."""
    sounds = [
        files.probe(ownership.inside(folder, component.file)) for component in record.components
    ]
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

    `members` has for each file the numbers of its components, counted from 1; each component is in
    one of them. Messages name the folder `where`.
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


def sides(level: Level) -> tuple[float, float]:
    """Return the factors of the left and of the right channel.

    With equal power: the sum of their squares is the same wherever the component is; in the centre
    both are the gain itself.
    """
    if level.muted or level.gain_db <= SILENT:
        return 0.0, 0.0
    gain = 10 ** (level.gain_db / 20)
    if level.pan == 0:
        return gain, gain
    angle = (1 + level.pan) * math.pi / 4
    return gain * math.sqrt(2) * math.cos(angle), gain * math.sqrt(2) * math.sin(angle)


def factors(levels: list[Level], channels: int) -> Array:
    """Return the factor (K, channels) of each component in each channel of the mix.

    A mono recording becomes stereo as soon as one component is not in the centre. Channels beyond
    the second one have the gain alone.
    """
    moved = any(level.pan != 0 for level in levels)
    both = np.array([sides(level) for level in levels])
    if channels == 1:
        return both if moved else both[:, :1]
    others = np.array([sides(Level(level.gain_db, 0.0, level.muted))[0] for level in levels])
    return np.hstack([both, np.repeat(others[:, None], channels - 2, axis=1)])


def mixed(sounds: list[Sound], gains: Array) -> Iterator[Array]:
    """Yield blocks (n, channels) of the mix."""
    for blocks in side_by_side(sounds):
        out = np.zeros((len(blocks[0]), gains.shape[1]))
        for block, gain in zip(blocks, gains, strict=True):
            out += gain * block
        yield out


def write_mix(
    sounds: list[Sound],
    levels: list[Level],
    path: Path,
    sample_format: SampleFormat,
    progress: Callable[[float], object] = lambda share: None,
) -> str:
    """Write a mix and say how; where samples cannot exceed full scale, it is turned down to fit."""
    first = sounds[0]
    gains = factors(levels, first.channels)

    def heard(begin: float, end: float, factor: float = 1.0) -> Iterator[Array]:
        done = 0
        for block in mixed(sounds, gains):
            yield factor * block
            done += len(block)
            progress(begin + (end - begin) * done / first.length)

    peak = max(float(np.abs(block).max()) for block in heard(0.0, LISTENING))
    turned = turned_down(peak, sample_format)
    with Stems([path], sample_format, first.sample_rate, gains.shape[1], tags=first.tags) as stems:
        for block in heard(LISTENING, WRITING_MIX, turned):
            stems.write(block, block[None])
    measure(stems, heard(WRITING_MIX, 1.0, turned))
    if turned == 1:
        return "1 file with every component at its level"
    return f"1 file, turned down by {-20 * math.log10(turned):.1f} dB as a whole so as not to clip"


def turned_down(peak: float, sample_format: SampleFormat) -> float:
    """Return the factor at which a mix of this peak does not exceed full scale."""
    most = 1.0 - 2.0 ** (1 - sample_format.bits) if sample_format.bits else 1.0
    fits = sample_format.subtype in FLOATS or peak <= 1.0
    return 1.0 if fits else most / peak
