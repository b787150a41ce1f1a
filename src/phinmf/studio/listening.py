"""The sound of takes, in stretches: files stay open, and several are read at the same time.

Invariant: files are opened, read and closed under one lock, so none is closed while it is read, and
no file of a removed take is opened again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial

import numpy as np
import soundfile
from numpy.typing import NDArray

from phinmf.audio import files
from phinmf.studio.requests import NotFound, Refusal
from phinmf.studio.take import Take
from phinmf.unmixing import ownership

LONGEST = 10.0  #: seconds of one stretch
LARGEST = 2**28  #: bytes of one stretch
TAKES_OPEN = 4  #: whose files are kept open
READERS = 2  #: files that are read at the same time

Floats = NDArray[np.float32]


class OpenTake:
    """The open files of a take: first the recording, if it is here, then the components."""

    def __init__(self, take: Take) -> None:
        self.take = take
        self.stack = ExitStack()
        try:
            self.original = self.recording()
            self.components = [
                self.stack.enter_context(
                    files.opened(ownership.inside(take.folder, component.file))
                )
                for component in take.record.components
            ]
        except BaseException:
            self.stack.close()
            raise

    def recording(self) -> soundfile.SoundFile | None:
        """Open the recording; None if it is not here, or no longer what it was."""
        original = self.take.original
        if original is None:
            return None
        try:
            original.check_unchanged()
            return self.stack.enter_context(files.opened(original.sound.path))
        except (OSError, ValueError):
            return None

    def sound(self, start: int, count: int, readers: ThreadPoolExecutor) -> Floats:
        """Return samples (1 + K, channels, count), the recording first."""
        take = self.take
        K = len(self.components)
        out = np.zeros((1 + K, take.channels, count), np.float32)
        work = [partial(fill, out[k + 1], self.components[k], start) for k in range(K)]
        if self.original is not None and take.original is not None:
            work.append(partial(fill, out[0], self.original, take.original.first + start))
        for done in [readers.submit(read) for read in work]:
            done.result()
        if self.original is None:
            out[1:].sum(axis=0, dtype=np.float64, out=out[0])
        elif take.record.gain_db:  # as loud as the components
            out[0] *= 10 ** (take.record.gain_db / 20)
        return out


def fill(out: Floats, file: soundfile.SoundFile, start: int) -> None:
    """Read a stretch of a file into an array (channels, n)."""
    try:
        if file.tell() != start:  # a player reads one stretch after the other
            files.go_to(file, start)
        block = file.read(out.shape[1], dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        raise ValueError(f"a file of this take is damaged ({error.error_string})") from None
    out[:, : len(block)] = block.T


class Listening:
    """Reads stretches of takes, of which the last few used stay open."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, OpenTake] = OrderedDict()
        self._removed: set[str] = set()  #: ids of takes, which no other take gets
        self._lock = threading.Lock()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="phinmf-studio-read")

    def sound(self, take: Take, start: int, count: int) -> Floats:
        """Return samples (1 + K, channels, n); n is less than `count` at the end of the take."""
        sounds = (1 + len(take.record.components)) * take.channels
        most = min(round(LONGEST * take.sample_rate), LARGEST // (4 * sounds))
        if not (0 <= start <= take.record.length and 0 <= count <= most):
            raise Refusal(
                f"start is {start} and count is {count}, but this take has {take.record.length}"
                f" samples, of which at most {most} are sent at a time"
            )
        count = min(count, take.record.length - start)
        with self._lock:
            return self._opened(take).sound(start, count, self._readers)

    def forget(self, take: Take) -> None:
        """Close the files of a take that is removed, and never open them again."""
        with self._lock:
            self._removed.add(take.id)
            if take.id in self._open:
                self._open.pop(take.id).stack.close()

    def close(self) -> None:
        """Close all files."""
        with self._lock:
            self._readers.shutdown()
            while self._open:
                self._open.popitem()[1].stack.close()

    def _opened(self, take: Take) -> OpenTake:
        """Return the open files of a take; those of the take used longest ago are closed."""
        if take.id not in self._open:
            if take.id in self._removed or not take.folder.is_dir():
                raise NotFound("this take was removed")
            self._open[take.id] = OpenTake(take)
        self._open.move_to_end(take.id)
        if len(self._open) > TAKES_OPEN:
            self._open.popitem(last=False)[1].stack.close()
        return self._open[take.id]
