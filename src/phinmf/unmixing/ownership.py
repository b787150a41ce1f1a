"""Which files of a folder this program wrote: its result.json lists them, with checksums.

Only those are ever removed or replaced. What is not listed, is a link, or was changed since it was
written belongs to somebody else.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LISTING, MODEL, PAGE = "result.json", "model.npz", "report.html"
MARK = {"program": "phinmf", "layout": 1}  #: by which result.json is told from a namesake

Identity = tuple[int, int, int, int]


def identity(path: Path) -> Identity:
    """Device, inode, size and time of change: another file, or another content, has others."""
    seen = path.stat()
    return seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns


def fingerprint(path: Path) -> dict[str, Any]:
    """Size and checksum of a file."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"bytes": os.fstat(file.fileno()).st_size, "sha256": digest}


def seal(result: dict[str, Any]) -> str:
    """Checksum of what result.json says, but for the checksum itself."""
    rest = {key: value for key, value in result.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def write(
    folder: Path, result: dict[str, Any], add: Iterable[str], drop: Iterable[str] = ()
) -> None:
    """Write result.json: what it listed but for `drop`, and the files `add` of the folder."""
    files = {name: entry for name, entry in result.get("files", {}).items() if name not in drop}
    for name in add:
        with open(folder / name, "r+b") as file:
            os.fsync(file.fileno())  # a disk that is full may say so only now
        files[name] = fingerprint(folder / name)
    result = json.loads(json.dumps({**MARK, **result, "files": files}))  # as it will be read
    result["checksum"] = seal(result)
    text = json.dumps(result, indent=2, ensure_ascii=False)
    try:
        content = text.encode()
    except UnicodeEncodeError:  # a name that is not UTF-8
        content = json.dumps(result, indent=2).encode()
    (folder / LISTING).write_bytes(content)


def read(folder: Path) -> dict[str, Any]:
    """What result.json says, if this program wrote it and it was not changed since."""
    try:
        result = json.loads(inside(folder, LISTING).read_bytes())
        marked = all(result[key] == MARK[key] for key in MARK)
        if marked and isinstance(result["files"], dict) and result["checksum"] == seal(result):
            return dict(result)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise ValueError(
        f"{folder} is not a folder that phinmf unmix has written (or another version wrote it, or"
        f" {LISTING} was changed): unmix the recording again"
    )


def damaged(folder: Path) -> ValueError:
    """What is said of a result.json whose checksum agrees, but which says what cannot be."""
    return ValueError(f"{folder / LISTING} is damaged: unmix again")


@contextmanager
def understood(folder: Path) -> Iterator[None]:
    """Say that result.json is damaged where something is missing in it, or is of another kind."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ArithmeticError):
        raise damaged(folder) from None


def inside(folder: Path, name: Any) -> Path:
    """A file that result.json names: in its folder, and no link to elsewhere."""
    plain = isinstance(name, str) and name not in ("", ".", "..") and "\0" not in name
    if plain and os.path.basename(name) == name and "\\" not in name:
        path = folder / name
        try:
            if stat.S_ISREG(path.lstat().st_mode):
                return path
        except OSError:
            pass
    raise ValueError(f"{folder / LISTING} names {name!r}, which is not a file of its folder")


def ours(folder: Path, name: str, result: dict[str, Any]) -> bool:
    """Whether a file of a folder is listed and unchanged."""
    try:
        path = inside(folder, name)
    except ValueError:
        return False
    if name == LISTING:
        return "checksum" in result  # which `read` has found to agree
    entry = result["files"].get(name)
    same_size = isinstance(entry, dict) and entry.get("bytes") == path.stat().st_size
    return same_size and bool(entry == fingerprint(path))


def contents(folder: Path) -> tuple[dict[str, Identity], list[str]]:
    """What this program wrote into a folder, and the names of everything else in it."""
    try:
        result = read(folder)
    except ValueError:
        result = {"files": {}}
    owned, foreign = {}, []
    for name in sorted(os.listdir(folder)):
        if ours(folder, name, result):
            owned[name] = identity(folder / name)
        else:
            foreign.append(name)
    return owned, foreign


def replaceable(folder: Path, keep: Collection[Path] = ()) -> dict[str, Identity]:
    """Return the files of a folder that may be replaced as a whole, or say why it may not.

    `keep` are files that are being read: a folder that holds one of them stays.
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
    owned, foreign = contents(folder)
    if foreign:
        shown = ", ".join(foreign[:3]) + (f" and {len(foreign) - 3} more" * (len(foreign) > 3))
        raise FileExistsError(
            f"{folder} holds what phinmf did not write or what was changed since ({shown}), and is"
            " not replaced: move that away, or choose another folder"
        )
    return owned


def same_file_in(folder: Path, path: Path) -> str | None:
    """The name of a file in a folder, whatever path or link leads to it."""
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
