"""A take: one unmixing of a recording, as the page is told about it and hears it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phinmf.audio import files
from phinmf.audio.files import Excerpt, Sound
from phinmf.studio.home import PREVIEW, WHOLE, title_of
from phinmf.unmixing import overview, ownership
from phinmf.unmixing.clustering import suggestions
from phinmf.unmixing.mix import COLOURS, Level
from phinmf.unmixing.null_test import adds_up
from phinmf.unmixing.record import FolderRecord
from phinmf.unmixing.saved_mix import stored
from phinmf.unmixing.sums import component_sounds

FRAME = 8192  #: samples in which the strongest frequency of a component is looked for
AUDIBLE = 20.0  #: Hz; lower frequencies are not named


@dataclass(frozen=True)
class Take:
    """A folder of components, with what was computed from it when it was opened."""

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

    def mix_state(self) -> dict[str, object]:
        """Return the groups and levels that are saved, and how often they were."""
        mix = stored(self.record)
        return {
            "revision": mix.revision,
            "groups": [
                asdict(group) | {"colour": i % COLOURS if group.colour is None else group.colour}
                for i, group in enumerate(mix.groups)
            ],
            "levels": [
                asdict(level) for level in mix.levels or [Level()] * len(self.record.components)
            ],
        }

    def state(self) -> dict[str, object]:
        """Return what the page shows of it; times are in seconds, lengths in samples."""
        record, rate, options = self.record, self.sample_rate, self.record.options or {}
        return self.mix_state() | {
            "id": self.id,
            "name": title_of(self.folder.absolute().name),
            "kind": self.kind,
            "n_components": options.get("n_components", len(record.components)),
            "window": str(options.get("window", record.window)),
            "seed": options.get("seed"),
            "start": record.start / rate,
            "seconds": record.length / rate,
            "length": record.length,
            "sample_rate": rate,
            "channels": self.channels,
            "first_sample": record.start,
            "adds_up": adds_up(record),
            "folder": str(self.folder),
            "components": [
                {"number": k, "share": component.share, "hertz": hertz}
                for k, (component, hertz) in enumerate(
                    zip(record.components, self.hertz, strict=True), 1
                )
            ],
            "suggestions": self.suggestions,
        }


def opened(id: str, folder: Path, recording: Excerpt | None) -> Take:
    """Open a folder of components; raise in one sentence if it is damaged."""
    record = ownership.read(folder)
    sounds = component_sounds(folder, record)
    if sounds[0].length < record.length or ownership.OVERVIEW not in record.files:
        raise ownership.damaged(folder)
    original = None
    if recording is not None and record.source and recording.sound.is_like(record.source):
        original = replace(recording, first=record.start, length=record.length)
    peaks = overview.load(folder, len(sounds), record.length)
    return Take(
        id, folder, record, original,
        hertz=[strongest(sound, row) for sound, row in zip(sounds, peaks[1:], strict=True)],
        suggestions=suggestions(np.array(record.similarity)),
        overview=peaks,
        sample_rate=sounds[0].sample_rate,
        channels=sounds[0].channels,
    )  # fmt: skip


def strongest(sound: Sound, peaks: NDArray[np.uint8]) -> float | None:
    """Return the frequency of most power where a component is loudest; None for silence."""
    loudest = int(peaks.argmax()) * overview.step_of(sound.length)
    y = files.read(sound, max(0, min(loudest, sound.length - FRAME)), FRAME).mean(axis=1)
    power = np.square(np.abs(np.fft.rfft(y * np.hanning(len(y)), FRAME)))
    power[: 1 + int(AUDIBLE * FRAME / sound.sample_rate)] = 0.0
    return round(float(power.argmax()) * sound.sample_rate / FRAME, 1) if power.any() else None
