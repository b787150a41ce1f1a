"""Recordings and takes that are open: looked up by ids, by any thread.

Nothing that the page sends is ever part of a path: its ids are looked up here.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from phinmf.audio import files
from phinmf.audio.files import Excerpt
from phinmf.studio.discovery import Discovery
from phinmf.studio.jobs import Job
from phinmf.studio.requests import NotFound
from phinmf.studio.take import Take, opened


@dataclass(eq=False)
class Recording:
    """A recording, its takes and its jobs."""

    id: str
    name: str
    file: Excerpt | None  #: None: only its takes are here
    folder: Path | None  #: of its new takes; None: none was written yet
    takes: dict[str, Take] = field(default_factory=dict)  #: by id, in the order they were made
    jobs: list[Job] = field(default_factory=list)

    def state(self) -> dict[str, object]:
        """Return what the page shows of it."""
        takes = list(self.takes.values())
        sound = self.file.sound if self.file is not None else None
        if sound is None and takes:
            sound = takes[0].record.source
        return {
            "id": self.id,
            "name": self.name,
            "title": (sound.tags.get("title") if sound else None) or Path(self.name).stem,
            "about": str(sound or "a recording that was in memory"),
            "again": self.file is not None,
            "takes": [take.state() for take in takes],
            "jobs": [job.state() for job in self.jobs],
        }


class Library:
    """Everything that is open; `revision` counts its changes."""

    def __init__(self) -> None:
        self.revision = 0
        self.recordings: dict[str, Recording] = {}  #: by id, in the order they came
        self.lock = threading.RLock()
        self._recording_numbers, self._take_numbers = count(1), count(1)

    def changed(self) -> None:
        """Tell everybody who looks at `revision` that something is new."""
        with self.lock:
            self.revision += 1

    def add(self, name: str, file: Path | None, folder: Path | None) -> Recording:
        """Open a recording, whose new takes will be in `folder`."""
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

    def add_take(self, recording: Recording, folder: Path) -> None:
        """Open a take of a recording, unless it is open."""
        if any(same(take.folder, folder) for take in recording.takes.values()):
            return
        take = opened(f"t{next(self._take_numbers)}", folder, recording.file)
        with self.lock:
            recording.takes[take.id] = take
            self.changed()

    def recording(self, id: str) -> Recording:
        """Return a recording."""
        with self.lock:
            if id not in self.recordings:
                raise NotFound("there is no such recording")
            return self.recordings[id]

    def recording_of(self, id: str) -> Recording:
        """Return the recording of a take."""
        with self.lock:
            for recording in self.recordings.values():
                if id in recording.takes:
                    return recording
        raise NotFound("there is no such take")

    def take(self, id: str) -> Take:
        """Return a take."""
        with self.lock:
            return self.recording_of(id).takes[id]

    def replace_take(self, take: Take, by: Take | None) -> None:
        """Show what a take has become, or that it is gone."""
        with self.lock:
            takes = self.recording_of(take.id).takes
            if by is None:
                del takes[take.id]
            else:
                takes[take.id] = by
            self.changed()

    def state(self) -> list[dict[str, object]]:
        """Return what the page shows."""
        with self.lock:
            for recording in self.recordings.values():
                recording.jobs = [job for job in recording.jobs if job.status != "done"]
            return [recording.state() for recording in self.recordings.values()]


def same(path: Path | None, other: Path | None) -> bool:
    """Whether two paths lead to the same place; one that somebody moved away leads nowhere."""
    if path is None or other is None:
        return False
    return path.exists() and other.exists() and path.samefile(other)
