"""What the studio has open: recordings, their takes, and the work in progress."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

import phinmf
from phinmf.audio import files
from phinmf.audio.files import Excerpt
from phinmf.fit.automatic import AUTO
from phinmf.studio.exports import Export, Exports
from phinmf.studio.found import Found, kept_in
from phinmf.studio.home import PREVIEW, WHOLE, Home, Kept, keep, next_take
from phinmf.studio.jobs import Job, Queue
from phinmf.studio.listening import Listening
from phinmf.studio.refusals import Conflict, NotFound, Refusal
from phinmf.studio.scratch import rename_new
from phinmf.studio.state import RecordingState, State
from phinmf.studio.take import Take, opened
from phinmf.studio.warming import warm_up
from phinmf.unmixing import ownership
from phinmf.unmixing.carry import carried
from phinmf.unmixing.export import Kind
from phinmf.unmixing.learn import check_size
from phinmf.unmixing.mix import Level, Mix
from phinmf.unmixing.options import UnmixOptions
from phinmf.unmixing.record import FolderRecord
from phinmf.unmixing.saved_mix import MixChanged, save_mix, stored
from phinmf.unmixing.sentences import sentence

LONG = 40.0  #: seconds; a longer recording begins with a preview
PREVIEW_SECONDS = 30.0
PREVIEW_LEARNING = 4.0  #: seconds at most, so that it is heard within ten
MOST_COMPONENTS = 64


@dataclass(eq=False)
class Recording:
    """A recording, its takes and its jobs."""

    id: str
    name: str
    file: Excerpt | None  #: None: only its takes are here
    folder: Path | None  #: of its new takes; None: none was written yet
    takes: list[str] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)


class Session:
    """The state of the studio, which any thread may ask and change.

    Everything is looked up by ids that are made here: nothing that the page sends is ever part of
    a path.
    """

    def __init__(self, home: Path) -> None:
        self.home = Home(home)
        self.revision = 0  #: counts changes
        self.closing = False
        self.takes: dict[str, Take] = {}
        self.recordings: dict[str, Recording] = {}
        self.listening = Listening()
        self.exports = Exports(self.home)
        self.queue = Queue(self.home.temporary, self.changed)
        self._lock = threading.RLock()
        self._saving = threading.Lock()
        self._recordings, self._takes = count(1), count(1)

    def changed(self) -> None:
        """Tell everybody who looks at `revision` that something is new."""
        with self._lock:
            self.revision += 1

    def start(self) -> None:
        """Begin to work in the background."""
        self.queue.start(warm_up)

    # ---- what is opened ----

    def open_home(self) -> list[str]:
        """Show what earlier studios have written here; return what is damaged, in sentences."""
        self.home.clean()
        return self.open(kept_in(self.home.path) if self.home.path.is_dir() else [])

    def open(self, found: Iterable[Found]) -> list[str]:
        """Show recordings and takes, and begin with those that have no take yet."""
        problems: list[str] = []
        for one in found:
            try:
                recording = self._known(one) or self._new(one)
            except (OSError, ValueError) as error:
                problems.append(sentence(error))
                continue
            open_already = {self.takes[id].folder.resolve() for id in recording.takes}
            for folder in one.takes:
                if folder.resolve() not in open_already:
                    try:
                        self._add_take(recording, folder)
                    except (OSError, ValueError) as error:
                        problems.append(sentence(error))
            if not recording.takes and not recording.jobs and recording.file is not None:
                self.begin(recording)
        return problems

    def _known(self, found: Found) -> Recording | None:
        """Return the recording that is open already, if it is."""
        for recording in self.recordings.values():
            file = recording.file
            if found.folder is not None and found.folder == recording.folder:
                return recording
            if found.file and file and found.file.samefile(file.sound.path):
                return recording
        return None

    def _new(self, found: Found) -> Recording:
        """Open a recording."""
        file = None if found.file is None else files.excerpt(found.file)
        with self._lock:
            recording = Recording(f"r{next(self._recordings)}", found.name, file, found.folder)
            self.recordings[recording.id] = recording
        self.changed()
        return recording

    def _add_take(self, recording: Recording, folder: Path) -> None:
        """Open a take of a recording."""
        take = opened(f"t{next(self._takes)}", folder, recording.file)
        with self._lock:
            self.takes[take.id] = take
            recording.takes.append(take.id)
        self.changed()

    def add_upload(self, path: Path, name: str, safe_name: str) -> str:
        """Take over a complete sound file, and begin with it; return the id of the recording."""
        files.probe(path)
        folder = self.home.new_folder(name)
        rename_new(path, folder / safe_name)
        keep(folder, Kept(name, safe_name))
        recording = self._new(Found(name, folder / safe_name, folder))
        self.begin(recording)
        return recording.id

    # ---- what is unmixed ----

    def begin(self, recording: Recording) -> None:
        """Unmix a new recording: first the middle of a long one, then all of it."""
        assert recording.file is not None
        seconds = recording.file.sound.seconds
        if seconds > LONG:
            stretch = recording.file.stretch((seconds - PREVIEW_SECONDS) / 2, PREVIEW_SECONDS)
            quick = UnmixOptions(seed=0, max_time=PREVIEW_LEARNING)
            self._add_job(recording, stretch, quick, "Preview", PREVIEW)
        self._add_job(recording, recording.file, UnmixOptions(seed=0), "Whole recording", WHOLE)

    def again(self, id: str, options: UnmixOptions, carry_from: str | None) -> str:
        """Unmix the whole of a recording in another way; return the id of the job."""
        recording = self._recording(id)
        if recording.file is None:
            raise Conflict(
                f"{recording.name} is not here, only its takes: drop its file to unmix it"
            )
        recording.file.check_unchanged()
        if options.n_components != AUTO and options.n_components > MOST_COMPONENTS:
            raise Refusal(f"at most {MOST_COMPONENTS} components can be listened to")
        check_size(options, recording.file.length, recording.file.sample_rate)
        if carry_from is not None:
            self.take(carry_from)
        return self._add_job(recording, recording.file, options, "", "take", carry_from)

    def _add_job(
        self,
        recording: Recording,
        stretch: Excerpt,
        options: UnmixOptions,
        name: str,
        kind: str,
        carry_from: str | None = None,
    ) -> str:
        """Let an unmixing wait for its turn."""
        with self._lock:
            there = [] if recording.folder is None else os.listdir(recording.folder)
            planned = [job.folder for id in recording.jobs if (job := self.queue.jobs.get(id))]
            folder = next_take([*there, *planned], kind)
            job = Job(
                self.queue.next_id(),
                name if folder == kind else folder.replace("take-", "Take "),
                stretch,
                options,
                partial(self._place, recording),
                folder=folder,
                carry_from=carry_from,
                urgent=kind == PREVIEW,
            )
            recording.jobs.append(job.id)
        self.queue.add(job)
        return job.id

    def _place(self, recording: Recording, job: Job, finished: Path) -> None:
        """Put a finished take where it belongs, with the groups of another one."""
        before = self._grouped(recording, job)
        if before is not None and (groups := carried(before.folder, finished)):
            save_mix(finished, Mix(groups))
        job.check()
        if recording.folder is None:
            assert recording.file is not None
            folder = self.home.new_folder(recording.name)
            keep(folder, Kept(recording.name, str(recording.file.sound.path.absolute())))
            recording.folder = folder
        rename_new(finished, recording.folder / job.folder)
        self._add_take(recording, recording.folder / job.folder)

    def _grouped(self, recording: Recording, job: Job) -> Take | None:
        """Return the take whose groups are carried over: the one asked for, or the preview."""
        with self._lock:
            if job.carry_from is not None:
                return self.takes.get(job.carry_from)
            takes = [self.takes[id] for id in recording.takes]
        previews = [take for take in takes if take.folder.name == PREVIEW]
        return previews[0] if previews and job.folder == WHOLE else None

    def cancel(self, id: str) -> None:
        """Cancel a job, or dismiss one that failed."""
        if not self.queue.cancel(id):
            raise NotFound("there is no such work in progress")

    # ---- takes ----

    def take(self, id: str) -> Take:
        """Return a take."""
        with self._lock:
            found = self.takes.get(id)
        if found is None:
            raise NotFound("there is no such take")
        return found

    def save(self, id: str, mix: Mix) -> int:
        """Store groups and levels on the disk; return their revision."""
        with self._saving:
            take = self.take(id)
            workplace = self.home.prepare() if self.home.owns(take.folder) else None
            try:
                record = save_mix(take.folder, mix, workplace)
            except MixChanged:
                self._saved(take, ownership.read(take.folder))
                raise
            self._saved(take, record)
        return stored(record).revision

    def _saved(self, take: Take, record: FolderRecord) -> None:
        """Show what is stored in a take now."""
        with self._lock:
            self.takes[take.id] = take.saved(record)
        self.changed()

    def remove_take(self, id: str) -> None:
        """Remove a take that the studio wrote; only files that are as they were written."""
        with self._saving:
            take = self.take(id)
            if not self.home.owns(take.folder):
                raise Conflict(f"{take.folder} was not written by this studio, and is not removed")
            owned = ownership.replaceable(take.folder)
            with self._lock:
                del self.takes[id]
                for recording in self.recordings.values():
                    if id in recording.takes:
                        recording.takes.remove(id)
            self.listening.forget(take)
            ownership.remove(take.folder, owned)
        self.changed()

    def export(self, id: str, kind: Kind, levels: list[Level] | None) -> Export:
        """Write files to be taken away."""
        take = self.take(id)
        (title,) = [r.name for r in self.recordings.values() if id in r.takes]
        return self.exports.make(take, Path(title).stem, kind, levels)

    # ---- the whole ----

    def _recording(self, id: str) -> Recording:
        """Return a recording."""
        with self._lock:
            found = self.recordings.get(id)
        if found is None:
            raise NotFound("there is no such recording")
        return found

    def state(self) -> State:
        """Return everything that the page shows."""
        with self._lock:
            recordings = [self._state_of(recording) for recording in self.recordings.values()]
        return State(phinmf.__version__, str(self.home.path), recordings)

    def _state_of(self, recording: Recording) -> RecordingState:
        """Return what the page is told about a recording."""
        takes = [self.takes[id] for id in recording.takes]
        jobs = [job for id in recording.jobs if (job := self.queue.jobs.get(id)) is not None]
        recording.jobs = [job.id for job in jobs]
        sound = recording.file.sound if recording.file is not None else None
        if sound is None and takes:
            sound = takes[0].record.source
        title = sound.tags.get("title") if sound is not None else None
        return RecordingState(
            recording.id,
            recording.name,
            title or Path(recording.name).stem,
            about=str(sound or "a recording that was in memory"),
            seconds=sound.seconds if sound is not None else takes[0].state().seconds,
            again=recording.file is not None,
            takes=[take.state() for take in takes],
            jobs=[job.state() for job in jobs],
        )

    def working(self) -> bool:
        """Whether a job runs, so that the share that is done changes all the time."""
        return any(
            job.status in ("running", "cancelling") for job in list(self.queue.jobs.values())
        )

    def close(self) -> None:
        """Cancel what is in progress, and remove what is not finished."""
        self.closing = True
        self.exports.closing = True
        self.queue.close()
        self.exports.close()
        self.listening.close()
        self.home.close()
