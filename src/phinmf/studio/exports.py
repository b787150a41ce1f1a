"""Files that the listener takes away: the last few stay until the studio ends."""

from __future__ import annotations

import threading
import zipfile
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from phinmf.studio.home import Home, safe_stem
from phinmf.studio.requests import NotFound
from phinmf.studio.take import Take
from phinmf.unmixing.export import Kind, export
from phinmf.unmixing.mix import Level, check_mix
from phinmf.unmixing.saved_mix import stored

MOST = 4  #: exports that stay; a new one takes the place of the oldest


@dataclass(frozen=True)
class Export:
    """A file to be downloaded."""

    id: str
    path: Path
    name: str
    message: str
    removal: ExitStack  #: removes the file when it is closed


class Exports:
    """Writes exports, one at a time; `Home` removes all of them when it is closed."""

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
            made = Export(id, path, f"{name}{path.suffix}", done.message, stack.pop_all())
            self._exports[id] = made
            while len(self._exports) > MOST:
                self._exports.pop(next(iter(self._exports))).removal.close()
        return made

    def __getitem__(self, id: str) -> Export:
        """Return an export that is still there."""
        export = self._exports.get(id)
        if export is None:
            raise NotFound("this file is no longer here: write it again")
        return export

    def _check(self) -> None:
        """Raise if the studio ends."""
        if self.closing:
            raise NotFound("the studio has ended")

    def close(self) -> None:
        """End what is being written."""
        self.closing = True
        with self._lock:
            self._exports.clear()
