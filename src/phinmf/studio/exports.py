"""Files that the user takes away: written when asked for, the last few kept for an hour."""

from __future__ import annotations

import threading
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from phinmf.studio.home import Home
from phinmf.studio.names import safe_stem
from phinmf.studio.refusals import NotFound
from phinmf.studio.take import Take
from phinmf.unmixing.export import Kind, export
from phinmf.unmixing.mix import Level, check_mix
from phinmf.unmixing.saved_mix import stored

KEPT = 3600.0  #: seconds
MOST = 4  #: exports that are kept; a new one takes the place of the oldest


@dataclass
class Export:
    """A file to be downloaded; it is removed when nobody holds it any more."""

    id: str
    path: Path
    name: str
    message: str
    removal: ExitStack  #: removes the file when it is closed
    holders: int = 1  #: `Exports`, and the downloads in progress
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the file while it is sent."""
        with self.lock:
            if not self.holders:
                raise gone()
            self.holders += 1
        try:
            yield
        finally:
            self.let_go()

    def let_go(self) -> None:
        """Remove the file, unless it is being sent; then the last download removes it."""
        with self.lock:
            self.holders -= 1
            last = not self.holders
        if last:
            self.removal.close()


def gone() -> NotFound:
    """Return the answer for an export that was removed."""
    return NotFound("this file is no longer here: write it again")


class Exports:
    """Writes exports, one at a time, and removes them after an hour or at the end."""

    def __init__(self, home: Home) -> None:
        self.closing = False
        self._home = home
        self._exports: dict[str, Export] = {}
        self._numbers = count(1)
        self._lock = threading.Lock()

    def make(self, take: Take, recording: str, kind: Kind, levels: list[Level] | None) -> Export:
        """Write groups, components or a mix; several files are put into one, not compressed."""
        mix = stored(take.record)
        if levels is not None:
            mix = replace(mix, levels=levels)
        check_mix(mix, len(take.record.components))
        with self._lock, ExitStack() as stack:
            temporary = stack.enter_context(self._home.temporary())
            name = f"{safe_stem(recording)} {kind}"
            done = export(
                take.folder, temporary / name, kind, mix=mix, progress=lambda share: self._check()
            )
            path = done.files[0]
            if kind != "mix":
                path = temporary / f"{name}.zip"
                with zipfile.ZipFile(path, "w") as bundle:
                    for file in done.files:
                        self._check()
                        bundle.write(file, f"{name}/{file.name}")
                        file.unlink()  # the disk may have no room for both
            id = f"e{next(self._numbers)}"
            timer = threading.Timer(KEPT, self._remove, [id])
            timer.daemon = True
            timer.start()
            stack.callback(timer.cancel)
            made = Export(id, path, f"{name}{path.suffix}", done.message, stack.pop_all())
            self._exports[id] = made
            while len(self._exports) > MOST:
                self._exports.pop(next(iter(self._exports))).let_go()
        return made

    def __getitem__(self, id: str) -> Export:
        """Return an export that is still there."""
        found = self._exports.get(id)
        if found is None:
            raise gone()
        return found

    def _check(self) -> None:
        """Raise if the studio ends."""
        if self.closing:
            raise NotFound("the studio has ended")

    def _remove(self, id: str) -> None:
        """Remove an export."""
        with self._lock:
            old = self._exports.pop(id, None)
        if old is not None:
            old.let_go()

    def close(self) -> None:
        """End what is being written, and remove everything."""
        self.closing = True
        with self._lock:
            while self._exports:
                self._exports.popitem()[1].removal.close()
