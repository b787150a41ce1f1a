"""Recordings and versions that are open: looked up by ids, by any thread.

A version is one unmixing of a recording. Nothing that the page sends is ever part of a path: its
ids are looked up here.
"""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phinmf.audio import Sound, files
from phinmf.audio.files import Excerpt
from phinmf.studio.discovery import Discovery
from phinmf.studio.home import PREVIEW, WHOLE, title_of
from phinmf.studio.requests import NotFound
from phinmf.unmixing import listing, overview
from phinmf.unmixing.folder import component_sounds
from phinmf.unmixing.groups import alike, marks_of
from phinmf.unmixing.listing import FolderRecord
from phinmf.unmixing.marks import Marks
from phinmf.unmixing.mix import Level
from phinmf.unmixing.null_test import adds_up
from phinmf.unmixing.spectrogram import lowest

MOST_GROUPS = 8  #: that the page makes by itself


@dataclass(eq=False)
class Version:
    """A folder of components, with what was computed from it when it was opened."""

    id: str
    folder: Path
    record: FolderRecord  #: another one as soon as groups or levels are saved
    marks: Marks  #: another one as soon as marks are saved
    original: Excerpt | None  #: the recording, if its file is here and the same as then
    hertz: list[float | None]  #: where each component is strongest
    alike: list[list[list[int]]]  #: numbers of the components in 2, 3, … groups of similar ones
    overview: NDArray[np.uint8]  #: (K + 1, stretches): peaks of the recording and the components
    sample_rate: int
    channels: int

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
        mix = self.record.mix
        return {
            "revision": mix.revision,
            "groups": [asdict(group) for group in mix.coloured()],
            "levels": [asdict(level) for level in mix.levels or [Level()] * len(self.hertz)],
            "marks": self.marks.to_json(),
        }

    def state(self) -> dict[str, object]:
        """Return what the page shows of it; times are in seconds, lengths in samples."""
        record, rate, options = self.record, self.sample_rate, self.record.options or {}
        return self.mix_state() | {
            "id": self.id,
            "name": title_of(self.folder.absolute().name),
            "kind": self.kind,
            "window": str(options.get("window", f"{1000 * record.window / rate:.0f}ms")),
            "seed": options.get("seed"),
            "start": record.start / rate,
            "seconds": record.length / rate,
            "length": record.length,
            "step": overview.step_of(record.length),  # of the outline
            "sample_rate": rate,
            "channels": self.channels,
            "first_sample": record.start,
            "lowest": lowest(rate),  # frequency of a spectrogram
            "adds_up": adds_up(record),
            "folder": str(self.folder),
            "components": [
                {"number": k + 1, "share": component.share, "hertz": self.hertz[k]}
                for k, component in enumerate(record.components)
            ],
            "alike": self.alike,
        }


def opened(id: str, folder: Path, recording: Excerpt | None) -> Version:
    """Open a folder of components; raise in one sentence if it is damaged."""
    record = listing.read(folder)
    sounds = component_sounds(folder, record)
    if sounds[0].length < record.length or listing.OVERVIEW not in record.files:
        raise listing.damaged(folder)
    original = None
    if recording is not None and record.source and recording.sound.is_like(record.source):
        original = replace(recording, first=record.start, length=record.length)
    peaks = overview.load(folder, len(sounds), record.length)
    numbers = range(2, 1 + min(MOST_GROUPS, len(sounds)))
    return Version(
        id, folder, record, original=original,
        marks=marks_of(folder) or Marks(sounds[0].sample_rate, whole_length(record)),
        hertz=[hertz_of(sound, row) for sound, row in zip(sounds, peaks[1:], strict=True)],
        alike=[[group.components for group in alike(record, n)] for n in numbers],
        overview=peaks,
        sample_rate=sounds[0].sample_rate,
        channels=sounds[0].channels,
    )  # fmt: skip


def whole_length(record: FolderRecord) -> int:
    """Return the samples of the recording that a folder was made from."""
    return record.length if record.source is None else record.source.length


def hertz_of(sound: Sound, peaks: NDArray[np.uint8]) -> float | None:
    """Return the frequency of most power where a component is loudest."""
    loudest = int(peaks.argmax()) * overview.step_of(sound.length)
    start = max(0, min(loudest, sound.length - overview.FRAME))
    y = files.read(sound, start, overview.FRAME).mean(axis=1)
    return overview.strongest(y, sound.sample_rate)


@dataclass(eq=False)
class Recording:
    """A recording and its versions."""

    id: str
    name: str
    file: Excerpt | None  #: None: only its versions are here
    folder: Path | None  #: of its new versions; None: none was written yet
    versions: dict[str, Version] = field(default_factory=dict)  #: by id, oldest first

    def state(self) -> dict[str, object]:
        """Return what the page shows of it."""
        sources = [version.record.source for version in self.versions.values()]
        sound = self.file.sound if self.file is not None else next(iter(sources), None)
        return {
            "id": self.id,
            "name": self.name,
            "title": (sound.tags.get("title") if sound else None) or Path(self.name).stem,
            "about": str(sound or "a recording that was in memory"),
            "again": self.file is not None,
            "versions": [
                version.state() | {"recording": self.id} for version in self.versions.values()
            ],
        }


class Library:
    """Everything that is open; `revision` counts its changes."""

    def __init__(self) -> None:
        self.revision = 0
        self.recordings: dict[str, Recording] = {}  #: by id, in the order they came
        self.lock = threading.RLock()
        self._recording_numbers, self._version_numbers = count(1), count(1)

    def changed(self) -> None:
        """Tell everybody who looks at `revision` that something is new."""
        with self.lock:
            self.revision += 1

    def add(self, name: str, file: Path | None, folder: Path | None) -> Recording:
        """Open a recording, whose new versions will be in `folder`."""
        excerpt = None if file is None else files.excerpt(file)
        with self.lock:
            recording = Recording(f"r{next(self._recording_numbers)}", name, excerpt, folder)
            self.recordings[recording.id] = recording
            self.changed()
        return recording

    def opened(self, discovery: Discovery) -> Recording | None:
        """Return the recording that is open already, if it is."""
        for recording in self.recordings.values():
            file = None if recording.file is None else recording.file.sound.path
            if same(discovery.folder, recording.folder) or same(discovery.file, file):
                return recording
        return None

    def add_version(self, recording: Recording, folder: Path) -> None:
        """Open a version of a recording, unless it is open."""
        if any(same(version.folder, folder) for version in recording.versions.values()):
            return
        version = opened(f"v{next(self._version_numbers)}", folder, recording.file)
        with self.lock:
            recording.versions[version.id] = version
            self.changed()

    def recording(self, id: str) -> Recording:
        """Return a recording."""
        with self.lock:
            if id not in self.recordings:
                raise NotFound("there is no such recording")
            return self.recordings[id]

    def recording_of(self, id: str) -> Recording:
        """Return the recording of a version."""
        with self.lock:
            for recording in self.recordings.values():
                if id in recording.versions:
                    return recording
        raise NotFound("there is no such version")

    def version(self, id: str) -> Version:
        """Return a version."""
        with self.lock:
            return self.recording_of(id).versions[id]

    def remove(self, version: Version) -> None:
        """Show that a version is gone."""
        with self.lock:
            del self.recording_of(version.id).versions[version.id]
            self.changed()


def same(path: Path | None, other: Path | None) -> bool:
    """Whether two paths lead to the same place; one that somebody moved away leads nowhere."""
    if path is None or other is None:
        return False
    return path.exists() and other.exists() and path.samefile(other)
