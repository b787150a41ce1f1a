"""Runs that take turns in memory: frames from their source, X in scratch files.

Files are read and written as a whole, not mapped into memory, where they would count. A trial
point is not kept: what moves X is noted, and done when a run is next in memory.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from phinmf._types import Array
from phinmf.arrays import room_for_frames
from phinmf.arrays.threads import Workers
from phinmf.engines.blocked.shard import Run
from phinmf.engines.blocked.share import Share
from phinmf.engines.remote.journal import Change

NEEDS_NOTHING = {
    "rest", "rotate", "move", "activations", "set_activations", "scale_activations",
    "set_model", "activation_sums",
}  # fmt: skip
ARRAYS = 5  #: as large as a run that are in memory at a time: X, a trial point, what is read ahead


class StoredRun(Run):
    """A run whose frames are in memory only while something is done to them."""

    def __init__(
        self,
        load: Callable[[], Array],
        size: tuple[int, int],
        dtype: np.dtype[Any],
        share: Share,
        workers: Workers,
    ) -> None:
        self.load = load
        self.path = Path()
        self.frames = share.frames
        n = len(share.weights)
        self.shape = (size[0], n, size[1])
        self.from_source = True  #: X is made of Y by the steps, otherwise of the file
        self.steps: list[Array] = []
        self.H = np.zeros((n, 0), dtype)
        self.V_hat = None
        self.prepare(dtype, share, workers)

    def rest(self) -> None:
        self.from_source, self.steps = True, []
        self.path.unlink(missing_ok=True)

    def rotate(self, Phi: Array) -> None:
        self.from_source, self.steps = True, [Phi]

    def move(self, T: Array | None) -> None:
        assert T is not None
        self.steps.append(T)

    def fetch(self, name: str) -> Array | None:
        """What has to be read before a question can be answered."""
        if name in NEEDS_NOTHING:
            return None
        if self.from_source or name == "powers":
            return self.load()
        X = room_for_frames(self.shape, self.dtype)
        with self.path.open("rb") as file:
            for channel in X:
                file.readinto(channel.data)
        return X

    def answer(self, fetched: Array | None, name: str, *args: Any) -> Any:
        """Wake up, answer, and leave memory again."""
        if fetched is None or name == "powers":
            if fetched is not None:
                self.Y = fetched
            result = getattr(self, name)(*args)
            self.Y = np.zeros(0)
            return result
        self.X = self.Y = fetched
        for T in self.steps:
            self.rotate_into_spare(T, self.X)
            self.X, self._spare = self.spare, self.X
        if self.steps:
            with self.path.open("wb") as file:
                for channel in self.X:
                    file.write(channel.data)
            self.steps, self.from_source = [], False
        result = getattr(self, name)(*args)
        self.X = self.Y = np.zeros(0)
        self._spare = None
        return result


class Disk:
    """Runs in turn, the next one being read while one is at work."""

    def __init__(self, runs: list[StoredRun], where: Any) -> None:
        if where is not None:
            Path(where).mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="phinmf-", dir=where))
        self.close = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.runs = runs
        for i, run in enumerate(runs):
            run.path = self.folder / f"{i}"
            run._scratch = runs[0]._scratch  # they take turns

    def ask(self, change: Change, sent: tuple[Any, ...] | None = None) -> Iterator[Any]:
        """The answer of each run to the same question; nothing is done before it is taken."""
        name = change.name
        with ThreadPoolExecutor(1) as reader:
            ahead = reader.submit(self.runs[0].fetch, name)
            for i, run in enumerate(self.runs):
                fetched = ahead.result()
                if i + 1 < len(self.runs):
                    ahead = reader.submit(self.runs[i + 1].fetch, name)
                answer = run.answer(fetched, name, *change.arguments(run.frames))
                del fetched
                yield answer


def available() -> int:
    """Bytes of memory that other programs leave, within the limit of a container."""
    found = [2**33]
    try:
        fields = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
        found = [1024 * int(f[1]) for f in fields if f[0] == "MemAvailable:"] or found
        group = Path("/sys/fs/cgroup")
        limit = (group / "memory.max").read_text().strip()
        if limit != "max":
            found.append(int(limit) - int((group / "memory.current").read_text()))
    except (OSError, ValueError, IndexError):  # another system, or no such limit
        pass
    return max(min(found), 2**26)
