"""A folder for what is not finished, which is removed at the end, or at the next start.

A file in it says that it is such a folder and what it is called, before anything else is written to
it, and is locked as long as its studio runs. So after a crash the next studio knows which folders
it may remove: those that say so, under the name that they say, and that nobody has locked.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

from phinmf.unmixing.ownership import inside

PREFIX = ".phinmf-studio-"
LOCK = "lock.json"  #: says what the folder is


def content(name: str) -> bytes:
    """Return what the locked file of a folder says."""
    return json.dumps({"program": "phinmf", "temporary folder": name}).encode()


def made_in(home: Path) -> tuple[Path, IO[bytes]]:
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
            with open(inside(folder, LOCK), "r+b") as lock:
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


def free_bytes(folder: Path) -> int:
    """Return the free space of the disk of a folder, or of the folder it will be made in."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    with suppress(OSError):
        return shutil.disk_usage(folder).free
    return sys.maxsize


def rename_new(source: Path, target: Path) -> None:
    """Give a file or a folder its name; raise FileExistsError if that is taken."""
    if os.path.lexists(target):
        raise FileExistsError(f"{target} exists already: move it away")
    os.rename(source, target)
