"""Put finished files in place, all of them or none, whatever interrupts."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from phinmf.audio.files import Identity, identity
from phinmf.unmixing import ownership
from phinmf.unmixing.options import HOW_TO_OVERWRITE
from phinmf.unmixing.record import FolderRecord

NEW, BEFORE = "new", "before"  #: subfolders of a workshop: the new files, and the replaced ones
SPARE = 4  #: files kept open, so that cleaning up can open folders at the limit of open files
ATTEMPTS = 20  #: to make a folder while other processes make or remove the folders above it
ONE_AT_A_TIME = threading.Lock()
SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
#: errors that say that the disk, or the table of open files, is full or broken
FULL = {
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EFBIG", "EIO", "EROFS", "EMFILE", "ENFILE")
    if hasattr(errno, name)
}


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay signals that end a program until a few steps that belong together are done."""
    waiting: list[int] = []
    before: dict[int, Any] = {}

    def wait(number: int, frame: FrameType | None) -> None:
        waiting.append(number)

    try:
        with suppress(ValueError):  # not the main thread, which is the only one that gets signals
            for number in SIGNALS:
                if (handler := signal.getsignal(number)) is not None:
                    before[number] = handler
                    signal.signal(number, wait)
        yield
    finally:
        with suppress(ValueError):
            for number, handler in before.items():
                signal.signal(number, handler)
        for number in waiting:
            signal.raise_signal(number)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Wait until nobody else changes the files of a folder, in this process or in another one.

    A folder cannot be locked on Windows, nor on some network disks: only this process waits there.
    """
    with ONE_AT_A_TIME, ExitStack() as stack:
        if sys.platform != "win32":
            import fcntl

            descriptor = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, descriptor)  # which ends the lock
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


@contextmanager
def workshop(final: Path) -> Iterator[Path]:
    """Yield a temporary folder beside another one, and remove it afterwards.

    Folders above it that were made for it are removed as well, if they are empty.
    """
    made: list[Path] = []
    spare: list[int] = []
    bench: Path | None = None
    try:
        with uninterrupted():
            for _ in range(SPARE):
                spare.append(os.open(os.devnull, os.O_RDONLY))
            bench = folder_in(final.absolute().parent, made)
            (bench / NEW).mkdir()
        yield bench
    except OSError as error:
        raise (unwritable(final, error) if error.errno in FULL else error) from None
    finally:
        try:
            clean(bench, made, spare)
        finally:
            clean(bench, made, spare)  # a signal may have come before the first call began


def folder_in(above: Path, made: list[Path]) -> Path:
    """Make a temporary folder, and the folders above it, which are added to those `made`.

    Another process may make, or remove, the same folders at the same time.
    """
    attempts = 0
    while True:
        try:
            for folder in reversed([above, *above.parents]):
                if not folder.exists():
                    folder.mkdir()
                    made.append(folder)
            return Path(tempfile.mkdtemp(prefix=".phinmf-", dir=above))
        except (FileExistsError, FileNotFoundError):
            attempts += 1
            if attempts == ATTEMPTS:
                raise


def clean(bench: Path | None, made: list[Path], spare: list[int]) -> None:
    """Remove a workshop and the empty folders that were made for it; it may be called twice."""
    with uninterrupted():
        while spare:
            os.close(spare.pop())
        for inside in bench.iterdir() if bench is not None and bench.is_dir() else ():
            if inside.name != BEFORE:
                shutil.rmtree(inside, ignore_errors=True)
        empty = [] if bench is None else [bench / BEFORE, bench]
        for folder in (*empty, *reversed(made)):
            with suppress(OSError):  # not empty: files that could not be put back are kept
                folder.rmdir()


def unwritable(folder: Path, error: OSError) -> OSError:
    """Return the error for a folder that the system cannot write to."""
    advice = (
        "use fewer components, since each has an open file, or raise the limit with ulimit -n"
        if error.errno in (errno.EMFILE, errno.ENFILE)
        else "free space on the disk, or choose another folder"
    )
    return OSError(f"{folder} cannot be written ({error.strerror}): {advice}")


def taken(folder: Path, how: str = HOW_TO_OVERWRITE) -> FileExistsError:
    """Return the error for a folder that exists already; `how` it can be replaced is the advice."""
    return FileExistsError(f"{folder} exists already: choose another folder, or {how}")


def put_in_place(
    bench: Path,
    final: Path,
    overwrite: bool,
    keep: Collection[Path] = (),
    how: str = HOW_TO_OVERWRITE,
) -> None:
    """Give the new folder of a workshop its name, and remove the one that it replaces."""
    new, before = bench / NEW, bench / BEFORE
    if os.path.lexists(final) and not overwrite:
        raise taken(final, how)
    owned = ownership.replaceable(final, keep) if os.path.lexists(final) else None
    with uninterrupted():
        if owned is not None:
            os.rename(final, before)
        try:
            os.rename(new, final)
        except OSError as error:
            there = os.path.lexists(final)  # another program was quicker
            if owned is not None and not there:
                os.rename(before, final)
            elif owned is not None:
                clear(before, owned, final)
            raise (taken(final, how) if there else error) from None
        if owned is not None:
            clear(before, owned, final)


def clear(before: Path, owned: dict[str, Identity], final: Path) -> None:
    """Remove a folder that was replaced; files added to it at the last moment are kept."""
    try:
        ownership.remove(before, owned)
    except OSError:
        raise OSError(
            f"{final} was replaced, but something was added to it meanwhile, which is now in"
            f" {before}"
        ) from None


def replace_listing(
    folder: Path, record: FolderRecord, changed: FolderRecord, workplace: Path | None = None
) -> FolderRecord:
    """Replace result.json, and no other file, in one step that cannot be done by halves.

    If it no longer says `record`, the folder is left as it was. Temporary files are in `workplace`,
    which is on the same disk; None: the folder above.
    """
    with workshop(folder if workplace is None else workplace / folder.name) as bench:
        changed = ownership.write(bench / NEW, changed, add=[])
        with open(bench / NEW / ownership.LISTING, "r+b") as file:
            os.fsync(file.fileno())
        with uninterrupted(), alone(folder):
            if ownership.read_sealed(folder)["checksum"] != record.checksum:
                raise FileExistsError(f"{folder} was changed meanwhile: try again")
            os.replace(bench / NEW / ownership.LISTING, folder / ownership.LISTING)
    return changed


@contextmanager
def exchange(folder: Path, record: FolderRecord, out: Collection[str]) -> Iterator[Path]:
    """Yield an empty folder; files written there replace the files `out` of `folder`.

    If anything fails, or its result.json no longer says `record`, the folder is left as it was.
    The files `out` must be this program's; result.json is always one of them.
    """
    out = [*out, ownership.LISTING]
    seen = [identity(folder / name) for name in out]
    with workshop(folder) as bench:
        yield bench / NEW
        (bench / BEFORE).mkdir()
        moves = [(folder / name, bench / BEFORE / name) for name in out]
        moves += [(new, folder / new.name) for new in sorted((bench / NEW).iterdir())]
        with uninterrupted(), alone(folder):
            same = seen == [identity(folder / name) for name in out]
            if not same or ownership.read_sealed(folder)["checksum"] != record.checksum:
                raise FileExistsError(f"{folder} was changed meanwhile: try again")
            done = []
            try:
                for source, target in moves:
                    if os.path.lexists(target):
                        raise FileExistsError(f"{target} exists already: move it away")
                    os.rename(source, target)
                    done.append((source, target))
            except BaseException:
                for source, target in reversed(done):
                    os.rename(target, source)
                raise
            for name in out:
                (bench / BEFORE / name).unlink()
