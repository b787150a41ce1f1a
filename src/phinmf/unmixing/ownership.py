"""Which files of a folder this program wrote: its result.json lists them.

Invariant: only a file that is listed, is no link, has the size that is listed and was not modified
later is ever removed or replaced. result.json itself is this program's.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

from phinmf.unmixing.record import MARK, FileRecord, FolderRecord

LISTING, MODEL, PAGE = "result.json", "model.npz", "report.html"
OVERVIEW = "overview.npy"


def file_record(path: Path) -> FileRecord:
    """Return what result.json states about a file: its size, and when it was modified."""
    status = path.stat()
    return FileRecord(status.st_size, status.st_mtime_ns // 1_000_000)


def write(
    folder: Path, record: FolderRecord, add: Iterable[str], drop: Iterable[str] = ()
) -> FolderRecord:
    """Write result.json with the files it listed, without `drop` and with `add`; return it."""
    files = {name: entry for name, entry in record.files.items() if name not in set(drop)}
    files |= {name: file_record(folder / name) for name in add}
    record = replace(record, files=files)
    (folder / LISTING).write_text(json.dumps(record.to_json(), indent=2), encoding="ascii")
    return record


def read(folder: Path) -> FolderRecord:
    """Return what result.json says; raise ValueError if this program did not write it."""
    try:
        content = json.loads(inside(folder, LISTING).read_bytes())
        marked = all(content[key] == MARK[key] for key in MARK)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        marked = False
    if not marked:
        raise ValueError(
            f"{folder} is not a folder that phinmf unmix has written (or another version wrote it):"
            " unmix the recording again"
        )
    try:
        return FolderRecord.from_json(content)
    except ValueError:
        raise damaged(folder) from None


def damaged(folder: Path) -> ValueError:
    """Return the error for a result.json whose content is nonsense."""
    return ValueError(f"{folder / LISTING} is damaged: unmix again")


def inside(folder: Path, name: str) -> Path:
    """Return the path of a file that result.json names: in its folder, and not a link."""
    plain = name not in ("", ".", "..") and "\0" not in name and "\\" not in name
    if plain and os.path.basename(name) == name:
        path = folder / name
        try:
            if stat.S_ISREG(path.lstat().st_mode):
                return path
        except OSError:
            pass
    raise ValueError(f"{folder / LISTING} names {name!r}, which is not a file of its folder")


def ours(folder: Path, name: str) -> bool:
    """Whether a file of a folder is listed in its result.json, and is as it was written."""
    return name in contents(folder, [name])[0]


def contents(folder: Path, names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return which of these names in a folder this program wrote, and which it did not."""
    try:
        listed = read(folder).files
    except ValueError:
        return [], [*names]
    own: list[str] = []
    foreign: list[str] = []
    for name in names:
        try:
            path = inside(folder, name)
            same = name == LISTING or (name in listed and unchanged(path, listed[name]))
        except ValueError:
            same = False
        (own if same else foreign).append(name)
    return own, foreign


def unchanged(path: Path, listed: FileRecord) -> bool:
    """Whether a file is as it was written, as far as its size and its time tell."""
    current = file_record(path)
    return current.bytes == listed.bytes and current.modified <= listed.modified


def check_replaceable(folder: Path, keep: Collection[Path] = ()) -> None:
    """Raise FileExistsError if a folder may not be replaced as a whole.

    `keep` are files that are being read: a folder that holds one of them is not replaced.
    """
    problem = None
    if folder.is_symlink():
        problem = "is a link"
    elif not folder.is_dir():
        problem = "is a file"
    elif os.path.ismount(folder) or folder.samefile(Path.cwd()):
        problem = "is the current folder or a disk of its own"
    elif not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        problem = "cannot be written to"
    elif inputs := [name for path in keep if (name := same_file_in(folder, path))]:
        problem = f"holds {inputs[0]}, which is being read"
    if problem is not None:
        raise FileExistsError(f"{folder} {problem}, and is not replaced: choose another folder")
    _, foreign = contents(folder, sorted(os.listdir(folder)))
    if foreign:
        shown = ", ".join(foreign[:3]) + (f" and {len(foreign) - 3} more" * (len(foreign) > 3))
        raise FileExistsError(
            f"{folder} holds what phinmf did not write or what was changed since ({shown}), and is"
            " not replaced: move that away, or choose another folder"
        )


def same_file_in(folder: Path, path: Path) -> str | None:
    """Return the name that a file has in a folder, whatever path or link leads to it, or None."""
    if not path.exists():
        return None
    for entry in folder.iterdir():
        if entry.exists() and entry.samefile(path):
            return entry.name
    return None


def remove(folder: Path) -> None:
    """Remove the files of a folder that are this program's, and the folder, if nothing is left."""
    own, _ = contents(folder, os.listdir(folder))
    for name in own:
        os.unlink(folder / name)
    folder.rmdir()
