"""What the user can do in the studio, whatever page or program asks for it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from phinmf.audio.files import Excerpt
from phinmf.errors import sentence
from phinmf.fit.automatic import AUTO
from phinmf.report.folder import refresh_report
from phinmf.studio.discovery import Discovery, in_home
from phinmf.studio.exports import Export, Exports
from phinmf.studio.home import PREVIEW, WHOLE, Home, Note, next_take, write_note
from phinmf.studio.jobs import Job, Queue, warm_up
from phinmf.studio.library import Library, Recording
from phinmf.studio.listening import Listening
from phinmf.studio.requests import NotFound, Refusal
from phinmf.studio.scratch import rename_new
from phinmf.studio.take import Take
from phinmf.unmixing import ownership
from phinmf.unmixing.carry import carried
from phinmf.unmixing.export import Kind
from phinmf.unmixing.learn import check_size, most_components
from phinmf.unmixing.mix import Level, Mix
from phinmf.unmixing.options import UnmixOptions
from phinmf.unmixing.saved_mix import MixChanged, save_mix, stored

LONG = 40.0  #: seconds; a longer recording begins with a preview
MANY = 800_000  #: samples of all channels at 44.1 kHz; so does one that is more work
PREVIEW_SECONDS = 30.0
PREVIEW_LEARNING = 6.0  #: seconds at most, so that the preview is heard within ten
MOST_COMPONENTS = 64


class Session:
    """The work of one studio: thread-safe, and every change is on the disk when it is answered."""

    def __init__(self, home: Path) -> None:
        self.closing = False
        self.home = Home(home)
        self.library = Library()
        self.listening = Listening()
        self.exports = Exports(self.home)
        self.queue = Queue(self.home.temporary, self.library.changed)
        self._writing = threading.Lock()  #: one change of the takes on the disk at a time
        self._stale_pages: set[Path] = set()  #: folders whose page does not show their groups yet

    def start(self) -> None:
        """Begin to work in the background."""
        self.queue.start(warm_up)

    def state(self) -> dict[str, object]:
        """Return everything that the page shows."""
        return {"home": str(self.home.path), "recordings": self.library.state()}

    def open_home(self) -> list[str]:
        """Show what earlier studios have written here; return what is damaged, in sentences."""
        self.home.clean()
        return self.open(in_home(self.home.path) if self.home.path.is_dir() else [])

    def open(self, discoveries: Iterable[Discovery]) -> list[str]:
        """Show recordings and takes, and begin with recordings that have no take yet."""
        problems: list[str] = []
        for discovery in discoveries:
            recording = self.library.opened(discovery) or self._add(discovery, problems)
            if recording is None:
                continue
            for folder in discovery.takes:
                try:
                    self.library.add_take(recording, folder)
                except (OSError, ValueError) as error:
                    problems.append(sentence(error))
            if not recording.takes and not recording.jobs:
                self._begin(recording)
        return problems

    def add_upload(self, folder: Path, name: str, file: str) -> str:
        """Take over a folder that holds a sound file, and begin; return the recording's id."""
        write_note(folder, Note(name, file))
        folder = self.home.adopt(folder, name)
        recording = self.library.add(name, folder / file, folder)
        self._begin(recording)
        return recording.id

    def again(self, id: str, options: UnmixOptions, carry_from: str | None) -> str:
        """Unmix the whole of a recording in another way; return the id of the job."""
        recording = self.library.recording(id)
        if recording.file is None:
            raise Refusal(f"only takes of {recording.name} are here: drop the file itself", 409)
        recording.file.check_unchanged()
        if options.n_components != AUTO and options.n_components > MOST_COMPONENTS:
            raise Refusal(f"at most {MOST_COMPONENTS} components can be listened to")
        check_size(options, recording.file.length, recording.file.sample_rate)
        if carry_from is not None and self.library.recording_of(carry_from) is not recording:
            raise Refusal("groups are only carried over between takes of the same recording")
        return self._add_job(recording, recording.file, options, "take", carry_from)

    def cancel(self, id: str) -> None:
        """Cancel a job, or dismiss one that failed."""
        if not self.queue.cancel(id):
            raise NotFound("there is no such work in progress")

    def save(self, id: str, mix: Mix) -> int:
        """Store groups and levels on the disk; return their revision."""
        with self._writing:
            take = self.library.take(id)
            workplace = self.home.prepare() if self.home.owns(take.folder) else None
            try:
                record = save_mix(take.folder, mix, workplace)
            except MixChanged:  # perhaps by another program
                self.library.replace_take(take, take.saved(ownership.read(take.folder)))
                raise
            self.library.replace_take(take, take.saved(record))
            self._stale_pages.add(take.folder)
        return stored(record).revision

    def remove_take(self, id: str) -> None:
        """Remove a take that the studio wrote; only files that are as they were written."""
        with self._writing:
            take = self.library.take(id)
            if not self.home.owns(take.folder):
                raise Refusal(
                    f"{take.folder} was not written by this studio, and is not removed", 409
                )
            ownership.check_replaceable(take.folder)
            self.library.replace_take(take, None)
            self.listening.forget(take)
            ownership.remove(take.folder)

    def export(self, id: str, kind: Kind, levels: list[Level] | None) -> Export:
        """Write files to be taken away."""
        take, recording = self.library.take(id), self.library.recording_of(id)
        return self.exports.make(take, recording.name, kind, levels)

    def close(self) -> None:
        """Cancel what is in progress, remove what is not finished, and draw groups on pages."""
        self.closing = self.exports.closing = True
        self.queue.close()
        for folder in self._stale_pages:
            with suppress(OSError, ValueError):  # it was removed or changed by somebody else
                refresh_report(folder)
        self.exports.close()
        self.listening.close()
        self.home.close()

    def _add(self, discovery: Discovery, problems: list[str]) -> Recording | None:
        """Open a recording; one whose file cannot be read is shown for its takes only."""
        name, folder = discovery.name, discovery.folder
        if folder is not None and not self.home.holds(folder):
            folder = None
        try:
            return self.library.add(name, discovery.file, folder)
        except (OSError, ValueError) as error:
            problems.append(sentence(error))
        return self.library.add(name, None, folder) if discovery.takes else None

    def _begin(self, recording: Recording) -> None:
        """Unmix a new recording: first its middle in haste, if all of it takes long; then all."""
        file = recording.file
        if file is None:
            return
        work = file.length * file.channels * (file.sample_rate / 44_100) ** 2  # longer windows
        long = file.sound.seconds > LONG or work > MANY
        if long:
            first = max(0.0, (file.sound.seconds - PREVIEW_SECONDS) / 2)
            hasty = UnmixOptions(seed=0, max_time=PREVIEW_LEARNING)
            stretch = file.stretch(first, PREVIEW_SECONDS)
            self._add_job(recording, stretch, fitting(hasty, stretch), PREVIEW, urgent=True)
        thorough = fitting(UnmixOptions(seed=0), file)
        self._add_job(recording, file, thorough, WHOLE, urgent=not long)

    def _add_job(
        self,
        recording: Recording,
        stretch: Excerpt,
        options: UnmixOptions,
        kind: str,
        carry_from: str | None = None,
        urgent: bool = False,
    ) -> str:
        """Let an unmixing wait for its turn."""
        with self.library.lock:
            names = [] if recording.folder is None else os.listdir(recording.folder)
            folder = next_take([*names, *(job.folder for job in recording.jobs)], kind)
            job = Job(
                self.queue.next_id(), stretch, options, partial(self._place, recording),
                folder=folder, carry_from=carry_from, urgent=urgent,
            )  # fmt: skip
            recording.jobs.append(job)
        self.queue.add(job)
        return job.id

    def _place(self, recording: Recording, job: Job, finished: Path) -> None:
        """Put a finished take where it belongs, with the groups of another one."""
        before = self._grouped(recording, job)
        with suppress(OSError, ValueError):  # it was removed or damaged; the new take is not
            if before is not None and (groups := carried(before.folder, finished)):
                save_mix(finished, Mix(groups))
        job.check()
        with self._writing:
            if recording.folder is None:
                new = finished.parent / "recording"
                new.mkdir()
                path = job.recording.sound.path.absolute()
                write_note(new, Note(recording.name, str(path)))
                recording.folder = self.home.adopt(new, recording.name)
            rename_new(finished, recording.folder / job.folder)
            self.library.add_take(recording, recording.folder / job.folder)

    def _grouped(self, recording: Recording, job: Job) -> Take | None:
        """Return the take whose groups are carried over: the one asked for, or the preview."""
        if job.carry_from is not None:
            try:
                return self.library.take(job.carry_from)
            except NotFound:  # it was removed meanwhile
                return None
        previews = (take for take in recording.takes.values() if take.folder.name == PREVIEW)
        return next(previews, None) if job.folder == WHOLE else None


def fitting(options: UnmixOptions, recording: Excerpt) -> UnmixOptions:
    """Return options with fewer components if the recording is too short for as many."""
    most = most_components(options, recording.length, recording.sample_rate)
    return replace(options, n_components=max(1, min(options.likely_components, most)))
