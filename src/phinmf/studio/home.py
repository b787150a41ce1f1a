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
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import chain, count
from pathlib import Path
from typing import IO

from phinmf.studio import scratch
from phinmf.unmixing import ownership, typed_json
from phinmf.unmixing.mix import NOT_IN_NAMES, RESERVED, folded
from phinmf.unmixing.placing import unwritable

NOTE = "studio.json"
PREVIEW, WHOLE, TAKE = "preview", "whole", "take-{}"
OURS = re.compile(rf"{PREVIEW}|{WHOLE}|take-(\d{{1,6}})")
LONGEST = 80  #: characters of a name without its ending
HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


@dataclass(frozen=True)
class Note:
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
            used = {folded(entry) for entry in os.listdir(self.path)}
            names = chain([stem], (f"{stem} {n}" for n in count(2)))
            new = self.path / next(title for title in names if folded(title) not in used)
            scratch.rename_new(folder, new)
        return new

    def holds(self, folder: Path) -> bool:
        """Whether this is the folder of a recording here, and not a link to another place."""
        inside = self.path.exists() and folder.absolute().parent.samefile(self.path)
        return inside and not folder.is_symlink() and read_note(folder) is not None

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


# ---- which recording a folder is about -----------------------------------------------------------


def write_note(folder: Path, note: Note) -> None:
    """Write studio.json into a folder that was made for a recording."""
    with open(folder / NOTE, "x") as file:
        json.dump(asdict(note), file, indent=2)


def read_note(folder: Path) -> Note | None:
    """Return what studio.json says, or None if there is none that a studio wrote."""
    try:
        path = ownership.inside(folder, NOTE)  # no link, and no pipe, which would never end
        note = typed_json.parse(Note, json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return None
    return note if note.program == Note.program else None


# ---- names of takes ------------------------------------------------------------------------------


def next_take(names: Iterable[str], kind: str) -> str:
    """Return a name for a new take: its kind if no name is the same, or the next number."""
    names = list(names)
    if kind in (PREVIEW, WHOLE) and kind not in map(folded, names):
        return kind
    ours = [match for name in names if (match := OURS.fullmatch(name))]
    return TAKE.format(max(1, len(ours), *(int(match[1] or 1) for match in ours)) + 1)


def place_of(take: Path) -> tuple[int, str]:
    """Return where a take comes among those of its recording: in the order they were made."""
    match = OURS.fullmatch(take.name)
    if match is None:
        return 10**6, take.name
    return (int(match[1]), "") if match[1] else ([PREVIEW, WHOLE].index(take.name), "")


def title_of(take: str) -> str:
    """Return what the page calls a take, from the name of its folder."""
    titles = {PREVIEW: "Preview", WHOLE: "Whole recording"}
    return titles.get(take) or take.replace("take-", "Take ")


# ---- names of files from anywhere ----------------------------------------------------------------


def shown_name(name: str) -> str:
    """Return the last part of a path as it can be shown, without characters that are not seen."""
    last = re.split(r"[/\\]", name)[-1]
    visible = "".join(c for c in last if unicodedata.category(c) not in HIDDEN).strip()
    stem, ending = split(visible)
    return f"{stem[: 2 * LONGEST - len(ending)]}{ending}" or "recording"


def safe_stem(name: str) -> str:
    """Return the name without its ending, as a folder can be called on every disk."""
    stem, _ = split(shown_name(name))
    safe = "".join("_" if c in NOT_IN_NAMES else c for c in unicodedata.normalize("NFC", stem))
    safe = safe[:LONGEST].encode()[: 2 * LONGEST].decode(errors="ignore").strip(" .")
    if not safe or safe.casefold().split(".")[0] in RESERVED:
        return f"recording {safe}".strip()
    return safe


def file_name(name: str) -> str:
    """Return the name of a recording in its folder: nothing else there, on no disk, has it."""
    safe = f"{safe_stem(name)}{split(shown_name(name))[1]}"
    reserved = folded(safe) == NOTE or OURS.fullmatch(folded(safe)) is not None
    return f"recording {safe}" if reserved else safe


def split(name: str) -> tuple[str, str]:
    """Return a name and its ending, which is empty if it does not look like one."""
    match = re.fullmatch(r"(.+)(\.[A-Za-z0-9]{1,5})", name)
    return (match[1], match[2]) if match else (name, "")
