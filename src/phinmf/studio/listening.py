"""The sound of versions, in stretches: files stay open, and several are read at the same time.

Invariant: files are opened, read and closed under one lock, so none is closed while it is read, and
none is open while its version is removed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial

import numpy as np
import soundfile
from numpy.typing import NDArray

from phinmf.audio import files
from phinmf.errors import InvalidValue
from phinmf.studio.library import Version
from phinmf.studio.requests import NotFound, Refusal
from phinmf.unmixing import listing

LONGEST = 10.0  #: seconds of one stretch
LARGEST = 2**28  #: bytes of one stretch
READERS = 2  #: files that are read at the same time

Floats = NDArray[np.float32]


class Listening:
    """Reads stretches of versions; the files of the last one stay open."""

    def __init__(self) -> None:
        self._version: Version | None = None  #: whose files are open
        self._original: soundfile.SoundFile | None = None
        self._components: list[soundfile.SoundFile] = []
        self._files = ExitStack()  #: closes them
        self._lock = threading.Lock()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="phinmf-studio-read")

    def sound(self, version: Version, start: int, count: int) -> Floats:
        """Return samples (1 + K, channels, n); n is less than `count` at the end of the version."""
        sounds = (1 + len(version.record.components)) * version.channels
        most = min(round(LONGEST * version.sample_rate), LARGEST // (4 * sounds))
        if not (0 <= start <= version.record.length and 0 <= count <= most):
            raise Refusal(
                f"start is {start} and count is {count}, but this version has"
                f" {version.record.length} samples, of which at most {most} are sent at a time"
            )
        count = min(count, version.record.length - start)
        with self._lock:
            if self._version is not version:
                self._open(version)
            return self._read(version, start, count)

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Keep all files closed, so that they can be removed."""
        with self._lock:
            self._close()
            yield

    def close(self) -> None:
        """Close the files and end the threads that read them."""
        with self.closed():
            self._readers.shutdown()

    def _close(self) -> None:
        """Close the files that are open."""
        self._version = None
        self._files.close()

    def _open(self, version: Version) -> None:
        """Open the files of a version instead of those of another one."""
        self._close()
        if not version.folder.is_dir():
            raise NotFound("this version was removed")
        paths = [listing.inside(version.folder, part.file) for part in version.record.components]
        self._components = [self._files.enter_context(files.opened(path)) for path in paths]
        self._original = None
        if version.original is not None:
            with suppress(OSError, ValueError):  # it is not here, or no longer what it was
                version.original.check_unchanged()
                original = files.opened(version.original.sound.path)
                self._original = self._files.enter_context(original)
        self._version = version

    def _read(self, version: Version, start: int, count: int) -> Floats:
        """Return samples (1 + K, channels, count), the recording first."""
        K = len(self._components)
        out = np.zeros((1 + K, version.channels, count), np.float32)
        work = [partial(fill, out[k + 1], self._components[k], start) for k in range(K)]
        if self._original is not None and version.original is not None:
            work.append(partial(fill, out[0], self._original, version.original.first + start))
        for done in [self._readers.submit(read) for read in work]:
            done.result()
        if self._original is None:
            out[1:].sum(axis=0, dtype=np.float64, out=out[0])
        return out


def fill(out: Floats, file: soundfile.SoundFile, start: int) -> None:
    """Read a stretch of a file into an array (channels, n)."""
    try:
        if file.tell() != start:  # a player reads one stretch after the other
            files.go_to(file, start)
        block = file.read(out.shape[1], dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        raise InvalidValue(f"a file of this version is damaged ({error.error_string})") from None
    out[:, : len(block)] = block.T
