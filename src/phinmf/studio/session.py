"""What the user can do in the studio, whatever page or program asks for it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from phinmf.audio.files import Excerpt
from phinmf.errors import UserError, sentence
from phinmf.report.folder import refresh_report
from phinmf.studio.discovery import Discovery, in_home
from phinmf.studio.home import (
    PREVIEW,
    WHOLE,
    Home,
    Note,
    next_version,
    remove_abandoned,
    rename_new,
    title_of,
    write_note,
)
from phinmf.studio.jobs import Job, Queue
from phinmf.studio.library import Library, Recording, Version
from phinmf.studio.listening import Listening
from phinmf.studio.pointing import MOST_COMPONENTS, Draft, Pointing
from phinmf.studio.requests import NotFound, Refusal
from phinmf.studio.transfers import Export, Exports
from phinmf.unmix_file import unmix_file
from phinmf.unmixing import listing, placing
from phinmf.unmixing.carry import carried
from phinmf.unmixing.export import Kind
from phinmf.unmixing.groups import MixChanged, marks_of, save_mix
from phinmf.unmixing.learn import fitting
from phinmf.unmixing.marks import Marks, new_names
from phinmf.unmixing.mix import Level, Mix, with_rest
from phinmf.unmixing.options import Output, Request, UnmixOptions

LONG = 40.0  #: seconds; a longer recording begins with a preview
MANY = 800_000  #: samples of all channels at 44.1 kHz; so does one that is more work
PREVIEW_SECONDS = 30.0
PREVIEW_LEARNING = 6.0  #: seconds at most, so that the preview is heard within ten


class Session:
    """The work of one studio: thread-safe, and every change is on the disk when it is answered."""

    def __init__(self, home: Path) -> None:
        self.closing = False
        self.home = Home(home)
        self.library = Library()
        self.listening = Listening()
        self.exports = Exports(self.home)
        self.pointing = Pointing()
        self.queue = Queue(self.home.temporary, self.library.changed)
        self._writing = threading.Lock()  #: one change of the versions on the disk at a time
        self._stale_pages: set[Path] = set()  #: folders whose page does not show their groups yet

    def state(self) -> dict[str, object]:
        """Return everything that the page shows."""

        def described(recording: Recording) -> dict[str, object]:
            jobs = self.queue.of(recording)
            works = [job.state() | {"name": title_of(job.folder)} for job in jobs]
            return recording.state() | {"jobs": works}

        with self.library.lock:
            recordings = [described(recording) for recording in self.library.recordings.values()]
        return {"home": str(self.home.path), "recordings": recordings}

    def open_home(self) -> list[str]:
        """Show what earlier studios have written here; return what is damaged, in sentences."""
        if not self.home.path.is_dir():
            return []
        remove_abandoned(self.home.path)
        return self.open(in_home(self.home.path))

    def open(self, discoveries: Iterable[Discovery]) -> list[str]:
        """Show recordings and versions, and begin with recordings that have no version yet."""
        problems: list[str] = []
        for discovery in discoveries:
            recording = self.library.opened(discovery) or self._add(discovery, problems)
            if recording is None:
                continue
            for folder in discovery.versions:
                try:
                    self.library.add_version(recording, folder)
                except (OSError, UserError) as error:
                    problems.append(sentence(error))
            if not recording.versions and not self.queue.of(recording):
                self._begin(recording)
        return problems

    def add_upload(self, folder: Path, name: str, file: str) -> str:
        """Take over a folder that holds a sound file, and begin; return the recording's id."""
        write_note(folder, Note(name, file))
        folder = self.home.adopt(folder, name)
        recording = self.library.add(name, folder / file, folder)
        self._begin(recording)
        return recording.id

    def _original(self, version: Version) -> Excerpt:
        """Return the stretch of the recording that a version was made from; refuse without it."""
        if version.original is None:
            raise Refusal("the recording itself is not here: drop it to learn from marks", 409)
        version.original.check_unchanged()
        return version.original

    def again(self, id: str, options: UnmixOptions) -> str:
        """Unmix the whole of a recording in another way; return the id of the job."""
        recording = self.library.recording(id)
        if recording.file is None:
            raise Refusal(f"only versions of {recording.name} are here: drop the file itself", 409)
        recording.file.check_unchanged()
        if isinstance(options.n_components, int) and options.n_components > MOST_COMPONENTS:
            raise Refusal(f"at most {MOST_COMPONENTS} components can be listened to")
        fitting(options, recording.file)
        return self._add_job(recording, recording.file, options, "version")

    def cancel(self, id: str) -> None:
        """Cancel a job, or dismiss one that failed."""
        if not self.queue.cancel(id):
            raise NotFound("there is no such work in progress")

    def save(self, id: str, mix: Mix, marks: Marks | None = None) -> int:
        """Store groups, levels and, unless they are None, marks; return their revision."""
        with self._writing:
            version = self.library.version(id)
            if marks is not None:
                marks.check_recording(version.marks)
                new_names(marks, mix.groups, len(version.record.components))
                if marks == version.marks:
                    marks = None
            workplace = self.home.prepare() if self.home.owns(version.folder) else None
            try:
                record = save_mix(version.folder, mix, workplace, marks)
            except MixChanged:  # perhaps by another program
                version.record = listing.read(version.folder)
                version.marks = marks_of(version.folder) or version.marks
                raise
            finally:
                self.library.changed()
            version.record = record
            if marks is not None:
                version.marks = marks
                self.pointing.prepare(version)
            self._stale_pages.add(version.folder)
        return record.mix.revision

    def remove_version(self, id: str) -> None:
        """Remove a version that the studio wrote; only files that are as they were written."""
        with self._writing:
            version = self.library.version(id)
            if not self.home.owns(version.folder):
                raise Refusal(
                    f"{version.folder} was not written by this studio, and is not removed", 409
                )
            placing.check_replaceable(version.folder)
            self.library.remove(version)
            self.pointing.forget(version)
            with self.listening.closed():
                placing.remove(version.folder)

    def export(self, id: str, kind: Kind, levels: list[Level] | None, without: list[str]) -> Export:
        """Write files to be taken away."""
        version, recording = self.library.version(id), self.library.recording_of(id)
        return self.exports.make(version, recording.name, kind, levels, without)

    def learn(self, id: str) -> list[str]:
        """Refine a version with its marks, to be heard at once; return the names of its groups."""
        version = self.library.version(id)
        draft = self.pointing.learn(version, self._original(version))
        return [group.name for group in with_rest([*draft.model.groups], draft.model.K)]

    def keep(self, id: str) -> str:
        """Make a version of what was learned from marks; return the id of the job."""
        version, recording = self.library.version(id), self.library.recording_of(id)
        original, draft = self._original(version), self.pointing.draft(version)
        options = UnmixOptions(n_components=draft.model.K)
        return self._add_job(recording, original, options, "version", draft=draft)

    def close(self) -> None:
        """Cancel what is in progress, remove what is not finished, and draw groups on pages."""
        self.closing = self.exports.closing = True
        self.queue.close()
        for folder in self._stale_pages:
            with suppress(OSError, ValueError):  # it was removed or changed by somebody else
                refresh_report(folder)
        self.listening.close()
        self.home.close()

    def _add(self, discovery: Discovery, problems: list[str]) -> Recording | None:
        """Open a recording; one whose file cannot be read is shown for its versions only."""
        name, folder = discovery.name, discovery.folder
        if folder is not None and not self.home.holds(folder):
            folder = None
        try:
            return self.library.add(name, discovery.file, folder)
        except (OSError, UserError) as error:
            problems.append(sentence(error))
        return self.library.add(name, None, folder) if discovery.versions else None

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
            self._add_job(recording, stretch, hasty, PREVIEW, urgent=True)
        self._add_job(recording, file, UnmixOptions(seed=0), WHOLE, urgent=not long)

    def _add_job(
        self,
        recording: Recording,
        stretch: Excerpt,
        options: UnmixOptions,
        kind: str,
        urgent: bool = False,
        draft: Draft | None = None,
    ) -> str:
        """Let an unmixing wait for its turn; with a draft nothing is learned again."""
        model, marks = (None, None) if draft is None else (draft.model, draft.marks)

        def work(job: Job, workplace: Path) -> None:
            job.check()
            finished = workplace / job.folder
            request = Request(
                stretch, Output(finished), options, model=model, marks=marks, page=False
            )
            unmix_file(request, progress=job.show)
            job.check()
            if draft is None:
                self._carry(recording, finished)
            self._place(recording, finished)

        with self.library.lock:
            names = [] if recording.folder is None else os.listdir(recording.folder)
            waiting = [job.folder for job in self.queue.of(recording)]
            job = Job(recording, next_version([*names, *waiting], kind), work, urgent)
            return self.queue.add(job)

    def _carry(self, recording: Recording, finished: Path) -> None:
        """Give a finished version the groups and marks of the last one that has groups."""
        grouped = [one for one in recording.versions.values() if one.record.mix.has_groups]
        with suppress(OSError, ValueError):  # that was removed or damaged; the new one is not
            if grouped:
                groups = [g for g in carried(grouped[-1].folder, finished) if g.components]
                marks = grouped[-1].marks
                renewed = marks.renewed(groups) if marks.marks else None
                save_mix(finished, Mix(groups), marks=renewed)

    def _place(self, recording: Recording, finished: Path) -> None:
        """Put a finished version where it belongs, and show it."""
        with self._writing:
            if recording.folder is None and recording.file is not None:
                new = finished.parent / "recording"
                new.mkdir()
                path = recording.file.sound.path.absolute()
                write_note(new, Note(recording.name, str(path)))
                recording.folder = self.home.adopt(new, recording.name)
            if recording.folder is not None:
                rename_new(finished, recording.folder / finished.name)
                self.library.add_version(recording, recording.folder / finished.name)
