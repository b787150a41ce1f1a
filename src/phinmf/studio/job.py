"""One unmixing: it says what it is doing, and can be cancelled at any moment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from phinmf.audio.files import Excerpt
from phinmf.studio.home import title_of
from phinmf.studio.state import JobState
from phinmf.unmix_file import Request, unmix_file
from phinmf.unmixing.options import Output, UnmixOptions
from phinmf.unmixing.progress import CHECKING, LEARNING, SEPARATING

READS = "Reading the recording"
FINISHES = "Putting them in their place"
DOING = {
    LEARNING: "Learning which sounds it is made of",
    SEPARATING: "Writing the components",
    CHECKING: "Checking that they add up",
}


class Cancelled(Exception):
    """The user has cancelled a job, or the studio ends."""


class Job:
    """One unmixing that waits, runs, or has failed."""

    def __init__(
        self,
        id: str,
        recording: Excerpt,
        options: UnmixOptions,
        place: Callable[[Job, Path], object],
        *,
        folder: str,
        carry_from: str | None = None,
        urgent: bool = False,
    ) -> None:
        self.id = id
        self.recording = recording
        self.options = options
        self.place = place  #: takes the finished folder
        self.folder = folder  #: name of the folder of the take
        self.carry_from = carry_from  #: take whose groups are carried over
        self.urgent = urgent  #: whether it comes before those that are not
        self.status = "waiting"  #: then running, perhaps cancelling; failed or done
        self.doing = READS
        self.message: str | None = None
        self.share = 0.0  #: of what it is doing, that is done
        self.cancelled = threading.Event()

    def state(self) -> JobState:
        """Return what the page is told."""
        return JobState(
            self.id, title_of(self.folder), self.doing, round(self.share, 4), self.status,
            self.message,
        )  # fmt: skip

    def run(self, workplace: Path) -> None:
        """Unmix into a folder inside `workplace`, and hand it on."""
        self.check()
        folder = workplace / self.folder
        request = Request(self.recording, Output(folder), self.options, page=False)
        unmix_file(request, progress=self.show)
        self.check()
        self.doing, self.share = FINISHES, 0.0
        self.place(self, folder)

    def check(self) -> None:
        """Raise Cancelled if the job is to end."""
        if self.cancelled.is_set():
            raise Cancelled

    def show(self, stage: str, share: float) -> None:
        """Set what is being done, or raise Cancelled."""
        self.check()
        self.doing, self.share = DOING[stage], share
