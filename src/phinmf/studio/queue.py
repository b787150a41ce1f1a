"""Work in the background: one job at a time, and an urgent one beside it."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from itertools import count
from pathlib import Path

from phinmf.errors import explained
from phinmf.studio.job import Job

POLITE = 10  #: how much a long job gives way to playing and to the browser


class Queue:
    """Does jobs in the background, in the order they came.

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
        self._threads: list[threading.Thread] = []

    def start(self, first: Callable[[], object]) -> None:
        """Begin to work; `first` is done before any job."""
        for urgent, before in ((True, first), (False, lambda: None)):
            thread = threading.Thread(target=self._work, args=[urgent, before], daemon=True)
            self._threads.append(thread)
            thread.start()

    def next_id(self) -> str:
        """Return an id that no job had."""
        return f"j{next(self._numbers)}"

    def add(self, job: Job) -> None:
        """Let a job wait for its turn."""
        with self._news:
            self._jobs[job.id] = job
            self._news.notify_all()
        self._changed()

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

    def working(self) -> bool:
        """Whether a job runs, so that the share that is done changes all the time."""
        with self._news:
            return any(job.status in ("running", "cancelling") for job in self._jobs.values())

    def close(self) -> None:
        """Cancel all jobs and wait until those that run have ended."""
        with self._news:
            self._closing = True
            self._news.notify_all()
            ids = list(self._jobs)
        for id in ids:
            self.cancel(id)
        for thread in self._threads:
            thread.join()

    def _next(self, urgent: bool) -> Job | None:
        """Wait for a job; None if the studio ends."""
        with self._news:
            while not self._closing:
                unfinished = [job for job in self._jobs.values() if job.status != "failed"]
                hold = not urgent and any(job.urgent for job in unfinished)
                for job in unfinished:
                    if job.status == "waiting" and job.urgent == urgent and not hold:
                        job.status = "running"
                        return job
                self._news.wait()
        return None

    def _work(self, urgent: bool, first: Callable[[], object]) -> None:
        """Do one job after the other, each in a thread that can be given its own priority."""
        with suppress(Exception):  # if it is serious, the first job says so
            first()
        while (job := self._next(urgent)) is not None:
            self._changed()
            thread = threading.Thread(target=self._do, args=[job])
            thread.start()
            thread.join()
            self._changed()

    def _do(self, job: Job) -> None:
        """Do one job; whatever happens, the next one can be done."""
        if not job.urgent:
            yield_to_others()
        failure, inside = None, ""
        try:
            with self._workplace() as workplace:
                inside = f"{workplace}{os.sep}"
                job.run(workplace)
        except Exception as error:
            if not job.cancelled.is_set():
                failure = explained(error).replace(inside, "")
        with self._news:
            self._end(job, failure)

    def _end(self, job: Job, failure: str | None) -> None:
        """Forget a job, or keep the reason why it failed; others may begin now."""
        if failure is None:
            job.status = "done"
            del self._jobs[job.id]
        else:
            job.status, job.message = "failed", failure
        self._news.notify_all()


def yield_to_others() -> None:
    """Let this thread, and those it starts, compute only what others leave; only Linux can."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), POLITE)
