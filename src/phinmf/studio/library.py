"""Recordings and takes that are open: looked up by ids, by any thread."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from phinmf.audio import files
from phinmf.audio.files import Excerpt
from phinmf.studio.found import Found
from phinmf.studio.job import Job
from phinmf.studio.refusals import NotFound
from phinmf.studio.state import RecordingState
from phinmf.studio.take import Take, opened


@dataclass(eq=False)
class Recording:
    """A recording, its takes and its jobs."""

    id: str
    name: str
    file: Excerpt | None  #: None: only its takes are here
    folder: Path | None  #: of its new takes; None: none was written yet
    takes: list[Take] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)

    def state(self) -> RecordingState:
        """Return what the page is told."""
        sound = self.file.sound if self.file is not None else None
        if sound is None and self.takes:
            sound = self.takes[0].record.source
        takes = [take.state() for take in self.takes]
        return RecordingState(
            self.id,
            self.name,
            title=(sound.tags.get("title") if sound else None) or Path(self.name).stem,
            about=str(sound or "a recording that was in memory"),
            seconds=sound.seconds if sound else max((take.seconds for take in takes), default=0.0),
            again=self.file is not None,
            takes=takes,
            jobs=[job.state() for job in self.jobs if job.status != "done"],
        )


class Library:
    """Everything that is open; `revision` counts its changes.

    Nothing that the page sends is ever part of a path: its ids are looked up here.
    """

    def __init__(self) -> None:
        self.revision = 0
        self.recordings: list[Recording] = []  #: in the order they came
        self.lock = threading.RLock()
        self._recording_numbers, self._take_numbers = count(1), count(1)

    def changed(self) -> None:
        """Tell everybody who looks at `revision` that something is new."""
        with self.lock:
            self.revision += 1

    def add(self, found: Found, folder: Path | None) -> Recording:
        """Open a recording, whose new takes will be in `folder`."""
        file = None if found.file is None else files.excerpt(found.file)
        with self.lock:
            recording = Recording(f"r{next(self._recording_numbers)}", found.name, file, folder)
            self.recordings.append(recording)
            self.changed()
        return recording

    def known(self, found: Found) -> Recording | None:
        """Return the recording that is open already, if it is."""
        for recording in self.recordings:
            if found.folder and recording.folder and same(found.folder, recording.folder):
                return recording
            if found.file and recording.file and same(found.file, recording.file.sound.path):
                return recording
        return None

    def add_take(self, recording: Recording, folder: Path) -> None:
        """Open a take of a recording, unless it is open."""
        if any(same(take.folder, folder) for take in recording.takes):
            return
        take = opened(f"t{next(self._take_numbers)}", folder, recording.file)
        with self.lock:
            recording.takes.append(take)
            self.changed()

    def recording(self, id: str) -> Recording:
        """Return a recording."""
        with self.lock:
            found = [recording for recording in self.recordings if recording.id == id]
        if not found:
            raise NotFound("there is no such recording")
        return found[0]

    def take(self, id: str) -> Take:
        """Return a take."""
        with self.lock:
            takes = [take for one in self.recordings for take in one.takes if take.id == id]
        if not takes:
            raise NotFound("there is no such take")
        return takes[0]

    def recording_of(self, take: Take) -> Recording:
        """Return the recording of a take."""
        with self.lock:
            found = [one for one in self.recordings if take.id in [t.id for t in one.takes]]
        if not found:
            raise NotFound("this take was removed")
        return found[0]

    def replace_take(self, take: Take, by: Take | None) -> None:
        """Show what a take has become, or that it is gone."""
        with self.lock:
            for recording in self.recordings:
                recording.takes = [
                    new
                    for old in recording.takes
                    if (new := by if old.id == take.id else old) is not None
                ]
            self.changed()

    def state(self) -> list[RecordingState]:
        """Return what the page is told."""
        with self.lock:
            for recording in self.recordings:
                recording.jobs = [job for job in recording.jobs if job.status != "done"]
            return [recording.state() for recording in self.recordings]


def same(one: Path, other: Path) -> bool:
    """Whether two paths lead to the same place; one that somebody moved away leads nowhere."""
    return one.exists() and other.exists() and one.samefile(other)
