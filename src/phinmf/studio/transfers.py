"""Files that are dropped onto the page, and files that the listener takes away.

Both are written into a temporary folder of the home: what is not finished leaves nothing behind.
"""

from __future__ import annotations

import shutil
import threading
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from starlette.concurrency import run_in_threadpool

from phinmf.audio import files
from phinmf.errors import UserError, sentence
from phinmf.studio.home import Home, file_name, safe_stem, shown_name
from phinmf.studio.library import Version
from phinmf.studio.requests import NotFound, Refusal
from phinmf.unmixing.export import Kind, export
from phinmf.unmixing.mix import Level, check_mix

SPARE = 2**28  #: bytes of the disk that an upload leaves free
MOST = 4  #: exports that stay; a new one takes the place of the oldest


# ---- what comes ----------------------------------------------------------------------------------


async def upload(
    home: Home,
    name: str,
    chunks: AsyncIterator[bytes],
    length: int,
    add: Callable[[Path, str, str], str],
) -> str:
    """Write a body to a file as it comes; return the id of the recording, or leave nothing.

    `add` moves the finished folder; it gets the name as it is shown, and that of the file. Whatever
    touches the disk does so in a thread: to remove a large file takes a second.
    """
    stack = ExitStack()
    try:
        temporary = await run_in_threadpool(stack.enter_context, home.temporary())
        await run_in_threadpool(check_room, temporary, length)
        folder, shown = temporary / "recording", shown_name(name)
        path = folder / file_name(name)
        folder.mkdir()
        with path.open("xb") as file:
            async for chunk in chunks:
                await run_in_threadpool(check_room, temporary, len(chunk))
                await run_in_threadpool(file.write, chunk)
        await run_in_threadpool(check_sound, path, shown)
        return await run_in_threadpool(add, folder, shown, path.name)
    finally:
        await run_in_threadpool(stack.close)


def check_room(folder: Path, length: int) -> None:
    """Refuse if a file of this length does not fit on the disk of a folder."""
    if shutil.disk_usage(folder).free < length + SPARE:
        raise Refusal("the disk is full: free some space, or start the studio with another -o", 507)


def check_sound(path: Path, name: str) -> None:
    """Refuse what is no sound, in a sentence that names the file as the user does."""
    try:
        files.excerpt(path)
    except (OSError, UserError) as error:
        message = sentence(error).replace(str(path), name).replace(path.name, name)
        raise Refusal(message, 415) from None


# ---- what is taken away --------------------------------------------------------------------------


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

    def make(
        self,
        version: Version,
        recording: str,
        kind: Kind,
        levels: list[Level] | None,
        without: list[str],
    ) -> Export:
        """Write groups, components or a mix; several files are put into one, not compressed.

        With groups in `without`, it is one file that holds all but these.
        """
        mix = version.record.mix
        if levels is not None:
            mix = replace(mix, levels=levels)
        check_mix(mix, len(version.record.components))
        with self._lock, ExitStack() as stack:
            temporary = stack.enter_context(self._home.temporary())
            words = f"without {', '.join(without)}" if without else kind
            name = safe_stem(f"{safe_stem(recording)} {words}.")
            done = export(
                version.folder, temporary / name, kind, mix=mix, without=without, check=self._check
            )
            path = done.files[0]
            if len(done.files) > 1:
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
