"""A take: one unmixing of a recording, as the page is told about it and hears it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phinmf.audio import files
from phinmf.audio.files import Excerpt, Sound
from phinmf.studio.home import PREVIEW, WHOLE, title_of
from phinmf.studio.state import ComponentState, GroupState, TakeState
from phinmf.unmixing import overview, ownership
from phinmf.unmixing.clustering import suggestions
from phinmf.unmixing.mix import COLOURS, Level
from phinmf.unmixing.null_test import adds_up
from phinmf.unmixing.record import FolderRecord
from phinmf.unmixing.saved_mix import stored
from phinmf.unmixing.sums import component_sounds, side_by_side, total

FRAME = 8192  #: samples in which the strongest frequency of a component is found
AUDIBLE = 20.0  #: Hz; lower frequencies are not named


@dataclass(frozen=True)
class Take:
    """A folder of components, with what was found out about it when it was opened."""

    id: str
    folder: Path
    record: FolderRecord
    original: Excerpt | None  #: the recording, if its file is here and the same as then
    hertz: list[float | None]  #: where each component is strongest
    suggestions: list[list[int]]
    overview: NDArray[np.uint8]  #: (K + 1, stretches): peaks of the recording and the components
    sample_rate: int
    channels: int

    def saved(self, record: FolderRecord) -> Take:
        """Return the same take after groups or levels were saved."""
        return replace(self, record=record)

    @property
    def kind(self) -> str:
        """Which part of the recording it is made from."""
        source = self.record.source
        if self.folder.name == PREVIEW:
            return PREVIEW
        whole = source is None or (self.record.start, self.record.length) == (0, source.length)
        return WHOLE if whole else "part"

    @property
    def name(self) -> str:
        """What the page calls it."""
        return title_of(self.folder.absolute().name)

    def state(self) -> TakeState:
        """Return what the page is told."""
        record, mix, rate = self.record, stored(self.record), self.sample_rate
        options = record.options or {}
        K = len(record.components)
        asked = options.get("n_components", K)
        window, seed = str(options.get("window", record.window)), options.get("seed")
        facts = [f"{K} component{'s' if K > 1 else ''}"]
        facts.append(f"{window} samples" if window.isdecimal() else window)
        facts += [] if seed is None else [f"seed {seed}"]
        return TakeState(
            id=self.id,
            name=self.name,
            kind=self.kind,
            about=", ".join(facts),
            n_components=asked if isinstance(asked, (int, str)) else K,
            window=window,
            seed=seed if isinstance(seed, int) else None,
            start=record.start / rate,
            seconds=record.length / rate,
            length=record.length,
            sample_rate=rate,
            channels=self.channels,
            first_sample=record.start,
            adds_up=adds_up(record),
            folder=str(self.folder),
            format=f"{record.format} {record.subtype}",
            components=[
                ComponentState(k, one.share, one.rms_db, one.peak_db, hertz)
                for k, (one, hertz) in enumerate(zip(record.components, self.hertz, strict=True), 1)
            ],
            revision=mix.revision,
            groups=[
                GroupState(
                    group.name, i % COLOURS if group.colour is None else group.colour,
                    group.components,
                )
                for i, group in enumerate(mix.groups)
            ],
            levels=mix.levels or [Level()] * K,
            suggestions=self.suggestions,
        )  # fmt: skip


def opened(id: str, folder: Path, recording: Excerpt | None) -> Take:
    """Open a folder of components; raise in one sentence if it is damaged."""
    record = ownership.read(folder)
    sounds = component_sounds(folder, record)
    if sounds[0].length < record.length:
        raise ownership.damaged(folder)
    original = None
    source = record.source
    if recording is not None and source is not None and recording.sound.is_like(source):
        original = replace(recording, first=record.start, length=record.length)
    peaks = overview_of(folder, record, sounds)
    return Take(
        id, folder, record, original,
        hertz=[strongest(one, row) for one, row in zip(sounds, peaks[1:], strict=True)],
        suggestions=suggestions(np.array(record.similarity)),
        overview=peaks,
        sample_rate=sounds[0].sample_rate,
        channels=sounds[0].channels,
    )  # fmt: skip


def overview_of(folder: Path, record: FolderRecord, sounds: list[Sound]) -> NDArray[np.uint8]:
    """Return the peaks that are stored in a folder; one that has none is read from end to end."""
    K = len(sounds)
    if ownership.OVERVIEW in record.files:
        return overview.load(folder, K, record.length)
    made, at = overview.Overview(K, record.length), 0
    for blocks in side_by_side(sounds):
        n = min(len(blocks[0]), record.length - at)  # some formats are padded to whole blocks
        for row, block in enumerate([total(blocks), *blocks]):
            made.keep(row, at, block[:n])
        at += n
        if at == record.length:
            break
    return made.bytes()


def strongest(sound: Sound, peaks: NDArray[np.uint8]) -> float | None:
    """Return the frequency of most power where a component is loudest; None for silence."""
    loudest = int(peaks.argmax()) * overview.step_of(sound.length)
    y = files.read(sound, max(0, min(loudest, sound.length - FRAME)), FRAME).mean(axis=1)
    power = np.square(np.abs(np.fft.rfft(y * np.hanning(len(y)), FRAME)))
    power[: 1 + int(AUDIBLE * FRAME / sound.sample_rate)] = 0.0
    return round(float(power.argmax()) * sound.sample_rate / FRAME, 1) if power.any() else None
