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
def new_folder(
    final: Path,
    overwrite: bool = False,
    keep: Collection[Path] = (),
    how_to_overwrite: str = HOW_TO_OVERWRITE,
) -> Iterator[Path]:
    """Yield an empty folder, which gets the name `final` and replaces what had it at the end.

    Parameters
    ----------
    final : path
        The folder, which must not exist.
    overwrite : bool
        Replace a folder that exists, if every file in it is this program's.
    keep : collection of paths
        Files that are being read: a folder that holds one of them is not replaced.
    how_to_overwrite : str
        What an error advises if the folder exists.
    """
    check_free(final, overwrite, keep, how_to_overwrite)
    with workshop(final) as bench:
        new = bench / NEW / final.absolute().name
        with possible(final):
            new.mkdir()
        yield new
        owned = check_free(final, overwrite, keep, how_to_overwrite)
        before = bench / BEFORE
        with uninterrupted():
            if owned is not None:
                os.rename(final, before)
            try:
                os.rename(new, final)
            except OSError:
                if owned is None:
                    check_free(final, overwrite, keep, how_to_overwrite)  # another was quicker
                elif not os.path.lexists(final):
                    os.rename(before, final)
                raise
            finally:
                if owned is not None and before.exists():
                    with added_meanwhile(before, final):
                        ownership.remove(before, owned)


def check_free(
    final: Path,
    overwrite: bool = False,
    keep: Collection[Path] = (),
    how_to_overwrite: str = HOW_TO_OVERWRITE,
) -> dict[str, Identity] | None:
    """Return the files of a folder that will be replaced, or None if it does not exist; or raise.

    The parameters are those of `new_folder`.
    """
    if not os.path.lexists(final):
        return None
    if not overwrite:
        raise FileExistsError(
            f"{final} exists already: choose another folder, or {how_to_overwrite}"
        )
    return ownership.replaceable(final, keep)


@contextmanager
def exchange(
    folder: Path, record: FolderRecord, out: Collection[str] = (), workplace: Path | None = None
) -> Iterator[Path]:
    """Yield an empty folder; the files written there replace the files `out` of `folder`.

    A new result.json must be among them. If the one in `folder` no longer says `record`, or
    anything fails, `folder` is left as it was.

    Parameters
    ----------
    folder : path
        A folder that this program has written.
    record : FolderRecord
        What its result.json says.
    out : collection of str
        Names of files that this program wrote, and that are removed or replaced.
    workplace : path, optional
        An existing folder on the same disk for temporary files; by default the one above `folder`.
    """
    before_change = {name: identity(folder / name) for name in out}
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
            same = before_change == {name: identity(folder / name) for name in out}
            if not same or ownership.read(folder) != record:
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
        with uninterrupted(), possible(final):
            spare += [os.open(os.devnull, os.O_RDONLY) for _ in range(SPARE)]
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
        if bench is not None:
            shutil.rmtree(bench / NEW, ignore_errors=True)
        empty = [] if bench is None else [bench / BEFORE, bench]
        for folder in (*empty, *reversed(made)):
            with suppress(OSError):  # not empty: files that could not be put back are kept
                folder.rmdir()


@contextmanager
def possible(final: Path) -> Iterator[None]:
    """Say in one sentence that a folder cannot be made, and why."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise
        raise PermissionError(
            f"{final} cannot be written ({error.strerror}): choose another folder"
        ) from None


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


def unwritable(folder: Path, error: OSError) -> OSError:
    """Return the error for a folder that the system cannot write to."""
    advice = (
        "use fewer components, since each has an open file, or raise the limit with ulimit -n"
        if error.errno in (errno.EMFILE, errno.ENFILE)
        else "free space on the disk, or choose another folder"
    )
    return OSError(f"{folder} cannot be written ({error.strerror}): {advice}")
