"""Sums of component files, as new files: groups of components, and mixes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from phinmf._types import Array
from phinmf.audio import SampleFormat, Sound, files
from phinmf.audio.writing import Stems, sample_format_for
from phinmf.unmixing.listing import FolderRecord, NullTest
from phinmf.unmixing.mix import Group
from phinmf.unmixing.null_test import measure


def derived_format(record: FolderRecord, first: Sound) -> SampleFormat:
    """Return the format of files that are made from those of a folder: the same."""
    samples = first.length * first.channels
    return sample_format_for(first.sample_format, samples, record.format, record.subtype)


def write_sums(
    sounds: list[Sound],
    gains: Array,
    paths: list[Path],
    sample_format: SampleFormat,
    where: Path,
    check: Callable[[], object] = lambda: None,
) -> NullTest:
    """Write sums of components, read them again, and return how these add up to the whole.

    `gains` has for each file the factor (K, channels) of each component in each channel. Messages
    name the folder `where`. `check` is called before each block of samples.
    """
    first = sounds[0]
    with Stems(
        paths, sample_format, first.sample_rate, gains.shape[2], tags=first.tags, where=where
    ) as stems:
        for blocks in side_by_side(sounds, check):
            parts = np.stack([mixed(blocks, gain) for gain in gains])
            stems.write(mixed(blocks, gains.sum(axis=0)), parts)
    whole = (mixed(blocks, gains.sum(axis=0)) for blocks in side_by_side(sounds, check))
    return measure(stems, whole).null_test


def membership(groups: list[Group], K: int, channels: int) -> Array:
    """Return the gains (files, K, channels) that make a file of each group."""
    gains = np.zeros((len(groups), K, channels))
    for gain, group in zip(gains, groups, strict=True):
        gain[np.array(group.components) - 1] = 1.0
    return gains


def mixed(blocks: Sequence[Array], gains: Array) -> Array:
    """Return the sum (n, channels) of blocks of components times their gains (K, channels)."""
    out = np.zeros((len(blocks[0]), gains.shape[1]))
    for block, gain in zip(blocks, gains, strict=True):
        if gain.any():
            out += gain * block
    return out


def side_by_side(
    sounds: list[Sound], check: Callable[[], object] = lambda: None
) -> Iterator[tuple[Array, ...]]:
    """Yield blocks of all sound files at the same time; call `check` before each."""
    for blocks in zip(*(files.blocks(sound) for sound in sounds), strict=True):
        check()
        yield blocks
