"""Work in the background: one unmixing at a time, which can be cancelled at any moment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from phinmf._types import Array
from phinmf.audio.files import Excerpt
from phinmf.result import State
from phinmf.studio.state import JobState
from phinmf.unmixing.estimates import Forecast, expected
from phinmf.unmixing.folder import WRITING, unmix_file
from phinmf.unmixing.options import Output, UnmixOptions
from phinmf.unmixing.sentences import sentence

READS = "Reading the recording"
LEARNS = "Learning which sounds it is made of"
WRITES = "Writing the components"
CHECKS = "Checking that they add up"
FINISHES = "Putting them in their place"


class Cancelled(Exception):
    """The user has cancelled a job, or the studio ends."""


@dataclass(frozen=True)
class Watched(Excerpt):
    """An excerpt that calls a function before anything is read, which may raise."""

    before_reading: Callable[[], object] = lambda: None

    def read(self, start: int, n: int) -> Array:
        """Return up to n samples (n, channels) from `start` on, in double precision."""
        self.before_reading()
        return super().read(start, n)

    def blocks(self) -> Iterator[Array]:
        """Yield all samples in blocks (n, channels), in double precision."""
        for block in super().blocks():
            self.before_reading()
            yield block


class Job:
    """One unmixing that waits, runs, or has failed."""

    def __init__(
        self,
        id: str,
        name: str,
        recording: Excerpt,
        options: UnmixOptions,
        place: Callable[[Job, Path], object],
        *,
        folder: str,
        carry_from: str | None = None,
        urgent: bool = False,
    ) -> None:
        self.id = id
        self.name = name
        self.recording = recording
        self.options = options
        self.place = place  #: takes the finished folder
        self.folder = folder  #: name of the folder of the take
        self.carry_from = carry_from  #: take whose groups are carried over
        self.urgent = urgent  #: whether it comes before those that are not
        self.status = "waiting"
        self.doing = READS
        self.message: str | None = None
        self.cancelled = threading.Event()
        self._forecast: Forecast | None = None
        self._lock = threading.Lock()  #: of the forecast

    def state(self) -> JobState:
        """Return what the page is told."""
        with self._lock:
            share, left = 0.0, None
            if self._forecast is not None:
                share, left = self._forecast.share(), round(self._forecast.left(), 1)
        return JobState(
            self.id, self.name, self.doing, round(share, 4), left, self.status, self.message
        )

    def run(self, workplace: Path) -> None:
        """Unmix into a folder inside `workplace`, and hand it on."""
        self.check()
        forecast = Forecast(expected(self.recording, self.options, page=False).stages)
        with self._lock:
            self._forecast = forecast
        recording = Watched(**vars(self.recording), before_reading=self.check)
        folder = workplace / self.folder
        unmix_file(
            recording, Output(folder), self.options, callback=self._learning, progress=self._writing
        )
        self.check()
        self.doing = FINISHES
        self.place(self, folder)

    def check(self) -> None:
        """Raise Cancelled if the job is to end."""
        if self.cancelled.is_set():
            raise Cancelled

    def _learning(self, state: State) -> bool:
        self._at(LEARNS, "learning", None)
        return False

    def _writing(self, share: float) -> None:
        self._at(WRITES if share < WRITING else CHECKS, "writing", share)

    def _at(self, doing: str, stage: str, within: float | None) -> None:
        """Set what is being done."""
        self.check()
        with self._lock:
            if self._forecast is not None:
                self._forecast.at(stage, within)
        self.doing = doing


class Queue:
    """Does jobs one after the other in a thread of its own; urgent ones first."""

    def __init__(
        self,
        workplace: Callable[[], AbstractContextManager[Path]],
        changed: Callable[[], object],
    ) -> None:
        self.jobs: dict[str, Job] = {}  #: in the order they came; failed ones stay until dismissed
        self._workplace = workplace  #: a new folder for unfinished work, removed afterwards
        self._changed = changed
        self._closing = False
        self._numbers = count(1)
        self._news = threading.Condition()
        self._thread: threading.Thread | None = None

    def start(self, first: Callable[[], object]) -> None:
        """Begin to work; `first` is done before any job."""
        self._thread = threading.Thread(target=self._work, args=[first], daemon=True)
        self._thread.start()

    def next_id(self) -> str:
        """Return an id that no job had."""
        return f"j{next(self._numbers)}"

    def add(self, job: Job) -> None:
        """Let a job wait for its turn."""
        with self._news:
            self.jobs[job.id] = job
            self._news.notify()
        self._changed()

    def cancel(self, id: str) -> bool:
        """Cancel a job or dismiss a failed one; return whether there is such a job."""
        with self._news:
            job = self.jobs.get(id)
            if job is None:
                return False
            job.cancelled.set()
            if job.status == "running":
                job.status = "cancelling"
            elif job.status != "cancelling":
                del self.jobs[id]
        self._changed()
        return True

    def close(self) -> None:
        """Cancel all jobs and wait until the one that runs has ended."""
        with self._news:
            self._closing = True
            self._news.notify()
            ids = list(self.jobs)
        for id in ids:
            self.cancel(id)
        if self._thread is not None:
            self._thread.join()

    def _next(self) -> Job | None:
        """Wait for a job; None if the studio ends."""
        with self._news:
            while not self._closing:
                waiting = [job for job in self.jobs.values() if job.status == "waiting"]
                if waiting:
                    job = min(waiting, key=lambda job: not job.urgent)  # the first of these
                    job.status = "running"
                    return job
                self._news.wait()
        return None

    def _work(self, first: Callable[[], object]) -> None:
        """Do one job after the other."""
        first()
        while (job := self._next()) is not None:
            self._changed()
            try:
                with self._workplace() as workplace:
                    job.run(workplace)
                failure = None
            except Exception as error:  # whatever happens, the next job is done
                failure = None if job.cancelled.is_set() else sentence(error)
            with self._news:
                if failure is None:
                    self.jobs.pop(job.id, None)
                else:
                    job.status, job.message = "failed", failure
            self._changed()
