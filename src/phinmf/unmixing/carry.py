"""Carry groups over from one unmixing of a recording to another one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from phinmf._types import Array
from phinmf.audio import files
from phinmf.errors import InvalidValue
from phinmf.unmixing import listing
from phinmf.unmixing.folder import component_sounds
from phinmf.unmixing.mix import Group
from phinmf.unmixing.similarity import normalised

SECONDS = 30.0  #: of two unmixings that are compared, from the middle of what both have
FRAME = 0.05  #: seconds of a frame of their spectrograms, about


def carried(old: Path, new: Path) -> list[Group]:
    """Return the groups of one folder in the components of another one of the same recording.

    Each new component goes where the old one is that is most like it, which may be in no group.
    Components are alike if they sound at the same times and at the same frequencies.
    """
    groups = [group for group in listing.read(old).mix.groups if group.components]
    if not groups:
        return []
    alike = likeness(old, new)
    nearest = np.where(alike.max(axis=1) > 0, alike.argmax(axis=1) + 1, 0)  # 0: none
    return [
        replace(group, components=(np.flatnonzero(np.isin(nearest, group.components)) + 1).tolist())
        for group in groups
    ]


def likeness(old: Path, new: Path) -> Array:
    """Return the cosine (new, old) of the magnitude spectrograms of components.

    They are compared in the middle of the stretch that both folders have.
    """
    before, after = listing.read(old), listing.read(new)
    first = max(before.start, after.start)
    length = min(before.start + before.length, after.start + after.length) - first
    if length < 1:
        raise InvalidValue(
            "the two unmixings have no moment in common: groups cannot be carried over"
        )
    sounds = component_sounds(new, after), component_sounds(old, before)
    rate, K = sounds[0][0].sample_rate, len(sounds[0])
    n = min(length, round(SECONDS * rate))
    first += (length - n) // 2
    frame = 2 ** round(np.log2(FRAME * rate))
    products = np.zeros((K + len(sounds[1]),) * 2)
    for blocks in zip(
        *(files.blocks(sound, first - after.start, n) for sound in sounds[0]),
        *(files.blocks(sound, first - before.start, n) for sound in sounds[1]),
        strict=True,
    ):
        X = np.stack([magnitudes(block, frame) for block in blocks])
        products += X @ X.T
    return normalised(products)[:K, K:]


def magnitudes(block: Array, frame: int) -> Array:
    """Return the magnitudes of the spectra of frames that do not overlap, of all channels."""
    padded = np.pad(block, ((0, -len(block) % frame), (0, 0)))
    frames = padded.T.reshape(-1, frame).astype(np.float32) * np.hanning(frame).astype(np.float32)
    return np.abs(np.fft.rfft(frames)).ravel()
