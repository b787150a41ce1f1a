"""One unmixing: it says what it is doing, and can be cancelled at any moment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from phinmf._types import Array
from phinmf.audio.files import Excerpt
from phinmf.result import State
from phinmf.studio.home import title_of
from phinmf.studio.state import JobState
from phinmf.unmixing.estimates import Forecast, expected
from phinmf.unmixing.folder import WRITING, unmix_file
from phinmf.unmixing.options import Output, UnmixOptions

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
            self.id, title_of(self.folder), self.doing, round(share, 4), left, self.status,
            self.message,
        )  # fmt: skip

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
