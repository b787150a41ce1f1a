"""Put finished files in place, all of them or none, whatever interrupts.

Invariants: files are written to a temporary folder beside their place, on the same disk, and
renamed when all are complete; what they replace goes to the temporary folder first, and back if a
rename fails. Signals wait while files are renamed. result.json is replaced last, in one step.
Whatever ends the work, the temporary folder is removed, and folders that were made for it.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from phinmf.unmixing import ownership
from phinmf.unmixing.interrupts import uninterrupted
from phinmf.unmixing.record import FolderRecord

NEW, BEFORE = "new", "before"  #: subfolders of a workshop: the new files, and the replaced ones
SPARE = 4  #: files kept open, so that cleaning up can open folders at the limit of open files
ATTEMPTS = 20  #: to make a folder while other processes remove the folders above it
#: errors that say that the disk, or the table of open files, is full or broken
FULL = {
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EFBIG", "EIO", "EROFS", "EMFILE", "ENFILE")
    if hasattr(errno, name)
}


@contextmanager
def new_folder(final: Path, overwrite: bool = False, keep: Collection[Path] = ()) -> Iterator[Path]:
    """Yield an empty folder, which gets the name `final` at the end.

    If it exists, it is replaced only with `overwrite`, only if every file in it is this program's,
    and not if it holds one of the files `keep`, which are being read.
    """
    check_free(final, overwrite, keep)
    with workshop(final) as bench:
        new, before = bench / NEW / final.absolute().name, bench / BEFORE
        new.mkdir()
        yield new
        check_free(final, overwrite, keep)
        with uninterrupted():
            exists = os.path.lexists(final)
            if exists:
                os.rename(final, before)
            try:
                os.rename(new, final)
            except OSError:
                if not exists:
                    check_free(final)  # another process was quicker
                elif not os.path.lexists(final):
                    os.rename(before, final)
                raise
            finally:
                if before.exists():
                    with added_meanwhile(before, final):
                        ownership.remove(before)


def check_free(final: Path, overwrite: bool = False, keep: Collection[Path] = ()) -> None:
    """Raise FileExistsError if a folder exists and may not be replaced.

    The parameters are those of `new_folder`.
    """
    if os.path.lexists(final):
        if not overwrite:
            raise FileExistsError(
                f"{final} exists already: choose another folder, or replace it (--overwrite, or"
                " overwrite=True in Python)"
            )
        ownership.check_replaceable(final, keep)


@contextmanager
def added_meanwhile(before: Path, final: Path) -> Iterator[None]:
    """Say where files are that were added to a folder while it was replaced."""
    try:
        yield
    except OSError:
        raise OSError(
            f"{final} was replaced, but something was added to it meanwhile, which is now in"
            f" {before}"
        ) from None


@contextmanager
def exchange(
    folder: Path, record: FolderRecord, out: Collection[str] = (), workplace: Path | None = None
) -> Iterator[Path]:
    """Yield an empty folder; the files written there replace the files `out` of `folder`.

    A new result.json must be among them. If the one in `folder` no longer says `record`, if files
    `out` are no longer this program's, or if anything fails, `folder` is left as it was. Temporary
    files are beside it, or in `workplace`, an existing folder on the same disk.
    """
    with workshop(folder if workplace is None else workplace / folder.name) as bench:
        new = bench / NEW
        yield new
        (bench / BEFORE).mkdir()
        moves = [(folder / name, bench / BEFORE / name) for name in out]
        names = sorted(path.name for path in new.iterdir() if path.name != ownership.LISTING)
        moves += [(new / name, folder / name) for name in names]
        with open(new / ownership.LISTING, "rb") as file:
            os.fsync(file.fileno())
        with uninterrupted(), alone(folder):
            if ownership.contents(folder, out)[1] or ownership.read(folder) != record:
                raise FileExistsError(f"{folder} was changed meanwhile: try again")
            renamed: list[tuple[Path, Path]] = []
            try:
                for source, target in moves:
                    if os.path.lexists(target):
                        raise FileExistsError(f"{target} exists already: move it away")
                    os.rename(source, target)
                    renamed.append((source, target))
                os.replace(new / ownership.LISTING, folder / ownership.LISTING)
            except BaseException:
                for source, target in reversed(renamed):
                    os.rename(target, source)
                raise
            for name in out:
                (bench / BEFORE / name).unlink()


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Wait until nobody else changes the files of a folder, in this process or in another one.

    A folder cannot be locked on Windows, nor on some network disks: nobody waits there.
    """
    with ExitStack() as stack:
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
    above = final.absolute().parent
    made: list[Path] = []
    spare: list[int] = []
    bench: Path | None = None
    try:
        with uninterrupted():
            spare += [os.open(os.devnull, os.O_RDONLY) for _ in range(SPARE)]
            made += [folder for folder in (above, *above.parents) if not folder.exists()]
            bench = folder_in(above, final)
            (bench / NEW).mkdir()
        yield bench
    except OSError as error:
        raise (unwritable(final, error) if error.errno in FULL else error) from None
    finally:
        try:
            clean(bench, made, spare)
        finally:
            clean(bench, made, spare)  # a signal may have come before the first call began


def folder_in(above: Path, final: Path) -> Path:
    """Make a temporary folder, and the folders above it; say so if `final` cannot be made there."""
    attempts = 0
    while True:
        try:
            above.mkdir(parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(prefix=".phinmf-", dir=above))
        except OSError as error:
            attempts += 1
            removed = isinstance(error, FileNotFoundError)  # by another process: it was empty
            if removed and attempts < ATTEMPTS:
                continue
            if error.errno in FULL:
                raise
            raise PermissionError(
                f"{final} cannot be written ({error.strerror}): choose another folder"
            ) from None


def clean(bench: Path | None, made: list[Path], spare: list[int]) -> None:
    """Remove a workshop and the empty folders that were made for it; it may be called twice."""
    with uninterrupted():
        while spare:
            os.close(spare.pop())
        if bench is not None:
            shutil.rmtree(bench / NEW, ignore_errors=True)
        empty = [] if bench is None else [bench / BEFORE, bench]
        for folder in (*empty, *made):
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
