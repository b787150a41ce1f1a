"""Work in the background: unmixings, one at a time, and an urgent one beside it.

Invariants: a job is waiting, running, cancelling or failed until the queue forgets it, and only the
worker that took it ends it once it runs. Whatever a job does, its worker goes on with the next one.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from itertools import count
from pathlib import Path

import numpy as np

from phinmf.audio import ArraySource
from phinmf.errors import explained
from phinmf.unmixing.learn import learn
from phinmf.unmixing.options import UnmixOptions
from phinmf.unmixing.progress import CHECKING, LEARNING, SEPARATING
from phinmf.unmixing.separate import ArraySink, separate

POLITE = 10  #: how much a long job gives way to playing and to the browser
WAITS, STOPS = "Waiting for its turn", "Stopping"
READS = "Reading the recording"
DOING = {
    LEARNING: "Learning which sounds it is made of",
    SEPARATING: "Writing the components",
    CHECKING: "Checking that they add up",
}


class Cancelled(Exception):
    """The user has cancelled a job, or the studio ends."""


class Job:
    """A piece of work; it says what it is doing, and can be cancelled at any moment."""

    def __init__(
        self,
        owner: object,
        folder: str,
        work: Callable[[Job, Path], object],
        urgent: bool = False,
    ) -> None:
        self.id = ""  #: given by the queue
        self.owner = owner  #: the recording that it is about
        self.folder = folder  #: name of the folder of the version that it makes
        self.work = work  #: called with the job and a folder for unfinished work
        self.urgent = urgent  #: whether it comes before those that are not
        self.status = "waiting"
        self.doing = READS
        self.share = 0.0  #: of what it is doing, that is done
        self.cancelled = threading.Event()
        self.changed: Callable[[], object] = lambda: None  #: called when there is something new

    def state(self) -> dict[str, object]:
        """Return what the page shows of its work."""
        doing = {"waiting": WAITS, "cancelling": STOPS}.get(self.status, self.doing)
        share = round(self.share, 4)
        return {"id": self.id, "doing": doing, "share": share, "state": self.status}

    def check(self) -> None:
        """Raise Cancelled if the job is to end."""
        if self.cancelled.is_set():
            raise Cancelled

    def show(self, stage: str, share: float) -> None:
        """Set what is being done, or raise Cancelled."""
        self.check()
        self.doing, self.share = DOING[stage], share
        self.changed()


class Queue:
    """Does jobs in the order they came.

    Urgent ones, whose user waits for the first sound, do not wait for a long one that runs; no
    long one begins as long as there are urgent ones.
    """

    def __init__(
        self,
        workplace: Callable[[], AbstractContextManager[Path]],
        changed: Callable[[], object],
    ) -> None:
        self._jobs: dict[str, Job] = {}  #: in the order they came; failed ones until dismissed
        self._workplace = workplace  #: a new folder for unfinished work, removed afterwards
        self._changed = changed
        self._closing = False
        self._numbers = count(1)
        self._news = threading.Condition()
        self._threads = [
            threading.Thread(target=self._work, args=[urgent, first], daemon=True)
            for urgent, first in ((True, warm_up), (False, yield_to_others))
        ]

    def start(self) -> None:
        """Begin to work."""
        for thread in self._threads:
            thread.start()

    def add(self, job: Job) -> str:
        """Let a job wait for its turn; return its id."""
        with self._news:
            job.id, job.changed = f"j{next(self._numbers)}", self._changed
            self._jobs[job.id] = job
            self._news.notify_all()
        self._changed()
        return job.id

    def of(self, owner: object) -> list[Job]:
        """Return the jobs that are about a recording."""
        with self._news:
            return [job for job in self._jobs.values() if job.owner is owner]

    def cancel(self, id: str) -> bool:
        """Cancel a job or dismiss a failed one; return whether there is such a job."""
        with self._news:
            job = self._jobs.get(id)
            if job is None:
                return False
            job.cancelled.set()
            if job.status in ("running", "cancelling"):
                job.status = "cancelling"
            else:
                self._end(job, None)
        self._changed()
        return True

    def close(self) -> None:
        """Cancel all jobs and wait until those that run have ended."""
        with self._news:
            self._closing = True
            self._news.notify_all()
            ids = list(self._jobs)
        for id in ids:
            self.cancel(id)
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def _work(self, urgent: bool, first: Callable[[], object]) -> None:
        """Do one job after the other."""
        with suppress(Exception):  # if it is serious, the first job says so
            first()
        while (job := self._next(urgent)) is not None:
            self._changed()
            failure = self._do(job)
            with self._news:
                self._end(job, failure)
            self._changed()

    def _next(self, urgent: bool) -> Job | None:
        """Wait for a job; None if the studio ends."""
        with self._news:
            while not self._closing:
                unfinished = [job for job in self._jobs.values() if job.status != "failed"]
                wait = not urgent and any(job.urgent for job in unfinished)
                for job in unfinished:
                    if job.status == "waiting" and job.urgent == urgent and not wait:
                        job.status = "running"
                        return job
                self._news.wait()
        return None

    def _do(self, job: Job) -> str | None:
        """Do one job; return why it failed, if it did."""
        inside = ""
        try:
            with self._workplace() as workplace:
                inside = f"{workplace}{os.sep}"
                job.work(job, workplace)
        except Exception as error:
            return None if job.cancelled.is_set() else explained(error).replace(inside, "")
        return None

    def _end(self, job: Job, failure: str | None) -> None:
        """Forget a job, or keep the reason why it failed; others may begin now."""
        if failure is None:
            del self._jobs[job.id]
        else:
            job.status, job.doing = "failed", failure
        self._news.notify_all()


def yield_to_others() -> None:
    """Let this thread, and those it starts, compute only what others leave; only Linux can."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), POLITE)


def warm_up() -> None:
    """Import and compile what unmixing needs: unmix a moment of noise, which takes a second."""
    noise = np.random.default_rng(0).standard_normal((4000, 2)) / 10
    source = ArraySource(noise, 8000)
    model = learn(source, UnmixOptions(n_components=2, window=64, seed=0))
    separate(source, model, ArraySink(2, source, np.float32), dtype=np.float32)
