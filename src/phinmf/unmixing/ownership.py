"""Which files of a folder this program wrote: its result.json lists them, with checksums.

Only those are ever removed or replaced. What is not listed, is a link, or was changed since it was
written is never removed or replaced.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from phinmf.audio.files import Identity, identity
from phinmf.unmixing.record import MARK, FileRecord, FolderRecord

LISTING, MODEL, PAGE = "result.json", "model.npz", "report.html"
OVERVIEW = "overview.npy"


def fingerprint(path: Path) -> FileRecord:
    """Return size and checksum of a file."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return FileRecord(os.fstat(file.fileno()).st_size, digest)


def seal(content: dict[str, Any]) -> str:
    """Return the checksum of what result.json says, without the checksum itself."""
    rest = {key: value for key, value in content.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def write(
    folder: Path, record: FolderRecord, add: Iterable[str], drop: Iterable[str] = ()
) -> FolderRecord:
    """Write result.json with the files it listed, without `drop` and with `add`; return it."""
    files = {name: entry for name, entry in record.files.items() if name not in drop}
    for name in add:
        with open(folder / name, "r+b") as file:
            os.fsync(file.fileno())  # a disk that is full may report it only now
        files[name] = fingerprint(folder / name)
    record = replace(record, files=files)
    return replace(record, checksum=write_sealed(folder, record.to_json()))


def write_sealed(folder: Path, content: dict[str, Any]) -> str:
    """Write result.json with its checksum, and return that."""
    content = json.loads(json.dumps(content))  # as it will be read
    content["checksum"] = seal(content)
    try:
        written = json.dumps(content, indent=2, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # a name that is not UTF-8
        written = json.dumps(content, indent=2).encode()
    (folder / LISTING).write_bytes(written)
    return str(content["checksum"])


def read_sealed(folder: Path) -> dict[str, Any]:
    """Return what result.json says, if this program wrote it and it was not changed since."""
    try:
        content = json.loads(inside(folder, LISTING).read_bytes())
        marked = all(content[key] == MARK[key] for key in MARK)
        if marked and isinstance(content["files"], dict) and content["checksum"] == seal(content):
            return dict(content)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise ValueError(
        f"{folder} is not a folder that phinmf unmix has written (or another version wrote it, or"
        f" {LISTING} was changed): unmix the recording again"
    )


def read(folder: Path) -> FolderRecord:
    """Return what result.json says; raise ValueError if it was changed or says nonsense."""
    content = read_sealed(folder)
    try:
        return FolderRecord.from_json(content)
    except ValueError:
        raise damaged(folder) from None


def damaged(folder: Path) -> ValueError:
    """Return the error for a result.json whose checksum agrees, but whose content is nonsense."""
    return ValueError(f"{folder / LISTING} is damaged: unmix again")


def inside(folder: Path, name: Any) -> Path:
    """Return the path of a file that result.json names: in its folder, and not a link."""
    plain = isinstance(name, str) and name not in ("", ".", "..") and "\0" not in name
    if plain and os.path.basename(name) == name and "\\" not in name:
        path = folder / name
        try:
            if stat.S_ISREG(path.lstat().st_mode):
                return path
        except OSError:
            pass
    raise ValueError(f"{folder / LISTING} names {name!r}, which is not a file of its folder")


def listed(entry: object, path: Path) -> bool:
    """Whether a file has the size and the checksum that result.json states for it."""
    same_size = isinstance(entry, dict) and entry.get("bytes") == path.stat().st_size
    return same_size and entry == vars(fingerprint(path))


def ours(folder: Path, name: str) -> bool:
    """Whether a file of a folder is listed in its result.json and unchanged."""
    return name in contents(folder, [name])[0]


def contents(folder: Path, names: Iterable[str]) -> tuple[dict[str, Identity], list[str]]:
    """Return which of these names in a folder this program wrote, and which it did not."""
    try:
        entries = read_sealed(folder)["files"]
    except ValueError:
        entries = None
    owned, foreign = {}, []
    for name in names:
        try:
            path = inside(folder, name)
            own = entries is not None and (name == LISTING or listed(entries.get(name), path))
        except ValueError:
            own = False
        if own:
            owned[name] = identity(path)
        else:
            foreign.append(name)
    return owned, foreign


def replaceable(folder: Path, keep: Collection[Path] = ()) -> dict[str, Identity]:
    """Return the files of a folder that may be replaced as a whole; raise if it may not be.

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
    if problem is not None:
        raise FileExistsError(f"{folder} {problem}, and is not replaced: choose another folder")
    for path in keep:
        if held := same_file_in(folder, path):
            raise FileExistsError(
                f"{folder} holds {held}, which is being read, and is not replaced: choose another"
                " folder"
            )
    owned, foreign = contents(folder, sorted(os.listdir(folder)))
    if foreign:
        shown = ", ".join(foreign[:3]) + (f" and {len(foreign) - 3} more" * (len(foreign) > 3))
        raise FileExistsError(
            f"{folder} holds what phinmf did not write or what was changed since ({shown}), and is"
            " not replaced: move that away, or choose another folder"
        )
    return owned


def same_file_in(folder: Path, path: Path) -> str | None:
    """Return the name that a file has in a folder, whatever path or link leads to it, or None."""
    if not path.exists():
        return None
    for entry in folder.iterdir():
        if entry.exists() and entry.samefile(path):
            return entry.name
    return None


def remove(folder: Path, owned: dict[str, Identity]) -> None:
    """Remove a folder with the files that were found to be this program's, and no others."""
    for name, before in owned.items():
        if os.path.lexists(folder / name) and identity(folder / name) == before:
            os.unlink(folder / name)
    folder.rmdir()
