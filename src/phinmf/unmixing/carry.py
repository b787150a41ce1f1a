"""Carry the groups of one unmixing over to another one of the same recording."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from phinmf._types import Array
from phinmf.audio import files
from phinmf.unmixing import ownership
from phinmf.unmixing.mix import Group
from phinmf.unmixing.record import FolderRecord
from phinmf.unmixing.saved_mix import stored
from phinmf.unmixing.sums import component_sounds

SECONDS = 30.0  #: that are compared, from the middle of what both have
FRAME = 0.05  #: seconds of a frame of the spectrograms, about


def carried(old: Path, new: Path) -> list[Group]:
    """Return the groups of one folder in the components of another one.

    Each new component goes where the old one is that is most like it, which may be in no group.
    Components are alike if they sound at the same times and at the same frequencies: their
    magnitude spectrograms are compared, in the stretch that both folders have.

    Parameters
    ----------
    old, new : path
        Folders that ``phinmf unmix`` has written from the same recording; `old` has groups.
    """
    before, after = ownership.read(old), ownership.read(new)
    groups = [group for group in stored(before).groups if group.components]
    if not groups:
        return []
    alike = likeness(old, before, new, after)
    nearest = alike.argmax(axis=1) + 1
    audible = alike.max(axis=1) > 0
    return [
        replace(
            group,
            components=[
                k for k, i in enumerate(nearest, 1) if audible[k - 1] and i in group.components
            ],
        )
        for group in groups
    ]


def likeness(old: Path, before: FolderRecord, new: Path, after: FolderRecord) -> Array:
    """Return the cosine (new, old) of the magnitude spectrograms of components."""
    old_sounds, new_sounds = component_sounds(old, before), component_sounds(new, after)
    first, n = common_stretch(before, after, old_sounds[0].sample_rate)
    frame = 2 ** round(np.log2(FRAME * old_sounds[0].sample_rate))
    inner = np.zeros((len(new_sounds), len(old_sounds)))
    squares = np.zeros(len(new_sounds)), np.zeros(len(old_sounds))
    for blocks in zip(
        *(files.blocks(sound, first - after.start, n) for sound in new_sounds),
        *(files.blocks(sound, first - before.start, n) for sound in old_sounds),
        strict=True,
    ):
        A, B = np.split(np.stack([magnitudes(block, frame) for block in blocks]), [len(new_sounds)])
        inner += A @ B.T
        for total, X in zip(squares, (A, B), strict=True):
            total += np.square(X).sum(axis=1)
    norms = np.sqrt(np.outer(*squares))
    return inner / np.where(norms > 0, norms, np.inf)


def magnitudes(block: Array, frame: int) -> Array:
    """Return the magnitudes of the spectra of frames that do not overlap, of all channels."""
    padded = np.pad(block, ((0, -len(block) % frame), (0, 0)))
    frames = padded.T.reshape(-1, frame).astype(np.float32) * np.hanning(frame).astype(np.float32)
    return np.abs(np.fft.rfft(frames)).ravel()


def common_stretch(before: FolderRecord, after: FolderRecord, sample_rate: int) -> tuple[int, int]:
    """Return first sample and length of what is compared; raise if there is nothing in common."""
    start = max(before.start, after.start)
    length = min(before.start + before.length, after.start + after.length) - start
    if length < 1:
        raise ValueError("the two takes have no moment in common: groups cannot be carried over")
    n = min(length, round(SECONDS * sample_rate))
    return start + (length - n) // 2, n
