"""The folder of the studio on the disk: a folder for each recording, which holds its takes.

``home/song/`` holds studio.json (which recording it is), the recording itself if it was dropped
onto the page, and its takes: ``preview``, ``whole``, ``take-3`` …, as ``phinmf unmix`` writes them.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import chain, count
from pathlib import Path
from typing import IO

from phinmf.studio import scratch
from phinmf.studio.names import safe_name, safe_stem
from phinmf.unmixing import ownership, typed_json
from phinmf.unmixing.mix import folded
from phinmf.unmixing.placing import unwritable

NOTE = "studio.json"
PREVIEW, WHOLE, TAKE = "preview", "whole", "take-{}"
OURS = re.compile(rf"{PREVIEW}|{WHOLE}|take-(\d{{1,6}})")


@dataclass(frozen=True)
class Kept:
    """What studio.json says: which recording a folder is about."""

    name: str  #: as it is shown
    file: str  #: its name in the folder, or the path of a recording that is read where it is
    program: str = "phinmf studio"


class Home:
    """The folder of the studio; it is made when the first thing is written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._made: list[Path] = []  #: folders that did not exist before
        self._scratch: Path | None = None
        self._lock: IO[bytes] | None = None
        self._closed = False
        self._naming = threading.Lock()

    def clean(self) -> None:
        """Remove what studios have left here that were killed."""
        if self.path.is_dir():
            scratch.remove_abandoned(self.path)

    def prepare(self) -> Path:
        """Make the folder if it does not exist, and return the one for unfinished work."""
        with self._naming:
            if self._closed:
                raise OSError("the studio has ended")
            if self._scratch is None:
                try:
                    for folder in reversed([self.path, *self.path.parents]):
                        if not folder.exists():
                            folder.mkdir()
                            self._made.append(folder)
                    self._scratch, self._lock = scratch.made_in(self.path)
                except OSError as error:
                    raise unwritable(self.path, error) from None
            return self._scratch

    @contextmanager
    def temporary(self) -> Iterator[Path]:
        """Yield a new folder for unfinished work, and remove it afterwards."""
        folder = Path(tempfile.mkdtemp(dir=self.prepare()))
        try:
            yield folder
        finally:
            scratch.remove(folder)

    def adopt(self, folder: Path, name: str) -> Path:
        """Move the folder of a recording here, under a name that nothing else has."""
        stem = safe_stem(name)
        with self._naming:
            there = {folded(entry) for entry in os.listdir(self.path)}
            names = chain([stem], (f"{stem} {n}" for n in count(2)))
            new = self.path / next(title for title in names if folded(title) not in there)
            scratch.rename_new(folder, new)
        return new

    def holds(self, folder: Path) -> bool:
        """Whether this is the folder of a recording here, and not a link to another place."""
        here = self.path.exists() and folder.absolute().parent.samefile(self.path)
        return here and not folder.is_symlink() and kept(folder) is not None

    def owns(self, take: Path) -> bool:
        """Whether a take is one that a studio wrote here."""
        named = OURS.fullmatch(take.name) is not None and not take.is_symlink()
        return named and self.holds(take.parent)

    def close(self) -> None:
        """Remove unfinished work, and folders that were made but are empty."""
        with self._naming:
            self._closed = True
            if self._scratch is not None and self._lock is not None:
                self._lock.close()
                scratch.remove(self._scratch)
        for folder in reversed(self._made):
            with suppress(OSError):  # not empty
                folder.rmdir()


def keep(folder: Path, what: Kept) -> None:
    """Write studio.json into a folder that was made for a recording."""
    with open(folder / NOTE, "x") as file:
        json.dump(asdict(what), file, indent=2)


def file_name(name: str) -> str:
    """Return the name that a recording gets in its folder, which nothing else there will have."""
    safe = safe_name(name)
    reserved = folded(safe) == NOTE or OURS.fullmatch(folded(safe)) is not None
    return f"recording {safe}" if reserved else safe


def kept(folder: Path) -> Kept | None:
    """Return what studio.json says, or None if there is none that a studio wrote."""
    try:
        note = ownership.inside(folder, NOTE)  # no link, and no pipe, which would never end
        found = typed_json.parse(Kept, json.loads(note.read_bytes()))
    except (OSError, ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return None
    return found if found.program == Kept.program else None


def next_take(there: Iterable[str], kind: str) -> str:
    """Return a name for a new take: its kind if no name is the same, or the next number."""
    there = list(there)
    if kind in (PREVIEW, WHOLE) and kind not in map(folded, there):
        return kind
    ours = [found for name in there if (found := OURS.fullmatch(name))]
    return TAKE.format(max(1, len(ours), *(int(found[1] or 1) for found in ours)) + 1)


def place_of(take: Path) -> tuple[int, str]:
    """Return where a take comes among those of its recording: in the order they were made."""
    found = OURS.fullmatch(take.name)
    if found is None:
        return 10**6, take.name
    return (int(found[1]), "") if found[1] else ([PREVIEW, WHOLE].index(take.name), "")


def title_of(take: str) -> str:
    """Return what the page calls a take, from the name of its folder."""
    known = {PREVIEW: "Preview", WHOLE: "Whole recording"}
    return known.get(take) or take.replace("take-", "Take ")
