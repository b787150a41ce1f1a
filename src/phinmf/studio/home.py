"""The folder of the studio on the disk: a folder for each recording, which holds its versions.

``home/song/`` holds studio.json (which recording it is), the recording itself if it was dropped
onto the page, and its versions: ``preview``, ``whole``, ``version-3`` …, as ``phinmf unmix`` writes
them.

What is not finished is in a temporary folder beside them. A file in it says what it is, before
anything else is written to it, and is locked as long as its studio runs. So after a crash the next
studio knows which folders it may remove: those that say so, under their own name, and that nobody
has locked.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import sys
import tempfile
import threading
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import chain, count
from pathlib import Path
from typing import IO

from phinmf.unmixing import listing, typed_json
from phinmf.unmixing.mix import NOT_IN_NAMES, RESERVED, folded
from phinmf.unmixing.placing import unwritable

NOTE = "studio.json"
PREFIX = ".phinmf-studio-"  #: of folders for unfinished work
LOCK = "lock.json"  #: says what such a folder is
PREVIEW, WHOLE, VERSION = "preview", "whole", "version-{}"
OURS = re.compile(rf"{PREVIEW}|{WHOLE}|version-(\d{{1,6}})")
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
        self._new = False  #: whether the folder did not exist before
        self._scratch: Path | None = None
        self._lock: IO[bytes] | None = None
        self._closed = False
        self._naming = threading.Lock()

    def prepare(self) -> Path:
        """Make the folder if it does not exist, and return the one for unfinished work."""
        with self._naming:
            if self._closed:
                raise OSError("the studio has ended")
            if self._scratch is None:
                try:
                    self._new = not self.path.exists()
                    self.path.mkdir(parents=True, exist_ok=True)
                    self._scratch, self._lock = locked_folder(self.path)
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
            remove(folder)

    def adopt(self, folder: Path, name: str) -> Path:
        """Move the folder of a recording here, under a name that nothing else has."""
        stem = safe_stem(name)
        with self._naming:
            used = {folded(entry) for entry in os.listdir(self.path)}
            names = chain([stem], (f"{stem} {n}" for n in count(2)))
            new = self.path / next(title for title in names if folded(title) not in used)
            rename_new(folder, new)
        return new

    def holds(self, folder: Path) -> bool:
        """Whether this is the folder of a recording here, and not a link to another place."""
        inside = self.path.exists() and folder.absolute().parent.samefile(self.path)
        return inside and not folder.is_symlink() and read_note(folder) is not None

    def owns(self, version: Path) -> bool:
        """Whether a version is one that a studio wrote here."""
        named = OURS.fullmatch(version.name) is not None and not version.is_symlink()
        return named and self.holds(version.parent)

    def close(self) -> None:
        """Remove unfinished work, and the folder if it is new and still empty."""
        with self._naming:
            self._closed = True
            if self._scratch is not None and self._lock is not None:
                self._lock.close()
                remove(self._scratch)
        if self._new:
            with suppress(OSError):  # not empty
                self.path.rmdir()


# ---- unfinished work -----------------------------------------------------------------------------


def content(name: str) -> bytes:
    """Return what the locked file of a folder says."""
    return json.dumps({"program": "phinmf", "temporary folder": name}).encode()


def locked_folder(home: Path) -> tuple[Path, IO[bytes]]:
    """Make a folder for unfinished work; return it with its lock, which is held until closed."""
    folder = home / f"{PREFIX}{secrets.token_hex(6)}"
    folder.mkdir()
    lock = open(folder / LOCK, "w+b")  # noqa: SIM115
    take_lock(lock)
    lock.write(content(folder.name))
    lock.flush()
    return folder, lock


def remove_abandoned(home: Path) -> None:
    """Remove the unfinished work of studios that were killed, and nothing else."""
    for folder in sorted(home.glob(f"{PREFIX}*")):
        if folder.is_symlink() or not folder.is_dir():
            continue
        try:
            with open(listing.inside(folder, LOCK), "r+b") as lock:
                take_lock(lock)
                ours = lock.read() == content(folder.name)
        except (OSError, ValueError):
            continue  # not ours, or its studio is running
        if ours:
            remove(folder)


def remove(folder: Path) -> None:
    """Remove a folder of unfinished work; links in it are removed, never followed."""
    shutil.rmtree(folder, ignore_errors=True)


def take_lock(file: IO[bytes]) -> None:
    """Lock a file until it is closed or the process ends; raise OSError if another one has it."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def rename_new(source: Path, target: Path) -> None:
    """Give a file or a folder its name; raise FileExistsError if that is taken."""
    if os.path.lexists(target):
        raise FileExistsError(f"{target} exists already: move it away")
    os.rename(source, target)


# ---- which recording a folder is about -----------------------------------------------------------


def write_note(folder: Path, note: Note) -> None:
    """Write studio.json into a folder that was made for a recording."""
    with open(folder / NOTE, "x") as file:
        json.dump(asdict(note), file, indent=2)


def read_note(folder: Path) -> Note | None:
    """Return what studio.json says, or None if there is none that a studio wrote."""
    try:
        path = listing.inside(folder, NOTE)  # no link, and no pipe, which would never end
        note = typed_json.parse(Note, json.loads(path.read_bytes()))
    except (OSError, ValueError, RecursionError):
        return None
    return note if note.program == Note.program else None


# ---- names of versions ---------------------------------------------------------------------------


def next_version(names: Iterable[str], kind: str) -> str:
    """Return a name for a new version: its kind if no name is the same, or the next number."""
    names = list(names)
    if kind in (PREVIEW, WHOLE) and kind not in map(folded, names):
        return kind
    ours = [match for name in names if (match := OURS.fullmatch(name))]
    return VERSION.format(max(1, len(ours), *(int(match[1] or 1) for match in ours)) + 1)


def place_of(version: Path) -> tuple[int, str]:
    """Return where a version comes among those of its recording: in the order they were made."""
    match = OURS.fullmatch(version.name)
    if match is None:
        return 10**6, version.name
    return (int(match[1]), "") if match[1] else ([PREVIEW, WHOLE].index(version.name), "")


def title_of(version: str) -> str:
    """Return what the page calls a version, from the name of its folder."""
    titles = {PREVIEW: "Preview", WHOLE: "Whole recording"}
    return titles.get(version) or version.replace("version-", "Version ")


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
