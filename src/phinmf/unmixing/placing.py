"""Put finished files in place, all of them or none, whatever interrupts.

Invariants: files are written to a temporary folder on the same disk, and renamed when all are
complete; what they replace goes to the temporary folder first, and back if a rename fails. Signals
wait while files are renamed. result.json is replaced last, in one step. Whatever ends the work, the
temporary folder is removed. Folders above a new one are made at the end.
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

from phinmf.unmixing import listing
from phinmf.unmixing.interrupts import uninterrupted
from phinmf.unmixing.listing import FolderRecord
from phinmf.unmixing.mix import folded

NEW, BEFORE = "new", "before"  #: subfolders of a workshop: the new files, and the replaced ones
TOO_MANY_OPEN = (errno.EMFILE, errno.ENFILE)
#: errors that say that the disk, or the table of open files, is full or broken
FULL = {
    *(getattr(errno, name, None) for name in ("ENOSPC", "EDQUOT", "EFBIG", "EIO", "EROFS")),
    *TOO_MANY_OPEN,
} - {None}


@contextmanager
def new_folder(
    final: Path, overwrite: bool = False, inputs: Collection[Path] = ()
) -> Iterator[Path]:
    """Yield an empty folder, which gets the name `final` at the end.

    If it exists, it is replaced only with `overwrite`, only if every file in it is this program's,
    and not if it holds one of the files `inputs`, which are being read.
    """
    check_free(final, overwrite, inputs)
    with workshop(final) as bench:
        new, before = bench / NEW / final.absolute().name, bench / BEFORE
        new.mkdir()
        yield new
        check_free(final, overwrite, inputs)
        with uninterrupted():
            final.absolute().parent.mkdir(parents=True, exist_ok=True)
            exists = os.path.lexists(final)
            with renamed([(final, before)] * exists + [(new, final)]):
                pass
            if exists:
                try:
                    remove(before)
                except OSError:
                    raise OSError(
                        f"{final} was replaced, but something was added to it meanwhile, which is"
                        f" now in {before}"
                    ) from None


def check_free(final: Path, overwrite: bool = False, inputs: Collection[Path] = ()) -> None:
    """Raise FileExistsError if a folder exists and may not be replaced; see `new_folder`."""
    if os.path.lexists(final):
        if not overwrite:
            raise FileExistsError(
                f"{final} exists already: choose another folder, or replace it (--overwrite, or"
                " overwrite=True in Python)"
            )
        check_replaceable(final, inputs)


def check_replaceable(folder: Path, inputs: Collection[Path] = ()) -> None:
    """Raise FileExistsError if a folder may not be replaced as a whole.

    `inputs` are files that are being read: a folder that holds one of them, whatever path or link
    leads to it, is not replaced.
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
    else:
        existing = [path for path in inputs if path.exists()]
        for entry in folder.iterdir():
            if entry.exists() and any(entry.samefile(path) for path in existing):
                problem = f"holds {entry.name}, which is being read"
    if problem is not None:
        raise FileExistsError(f"{folder} {problem}, and is not replaced: choose another folder")
    if others := listing.foreign(folder, sorted(os.listdir(folder))):
        shown = ", ".join(others[:3]) + (f" and {len(others) - 3} more" * (len(others) > 3))
        raise FileExistsError(
            f"{folder} holds what phinmf did not write or what was changed since ({shown}), and is"
            " not replaced: move that away, or choose another folder"
        )


def remove(folder: Path) -> None:
    """Remove the files of a folder that are this program's, and the folder, if nothing is left."""
    names = os.listdir(folder)
    for name in set(names) - set(listing.foreign(folder, names)):
        os.unlink(folder / name)
    folder.rmdir()


@contextmanager
def exchange(
    folder: Path,
    record: FolderRecord,
    names: Collection[str] = (),
    drop: Collection[str] = (),
    workplace: Path | None = None,
) -> Iterator[Path]:
    """Yield an empty folder, whose files `names` and result.json are then moved to `folder`.

    Files `names` and `drop` that exist are removed; they must be this program's. If one is not, if
    result.json no longer says `record`, or if anything fails, `folder` is left as it was. Temporary
    files are beside it, or in `workplace`, an existing folder on the same disk.
    """
    own_files(folder, names, drop)
    with workshop(folder if workplace is None else workplace / folder.name) as bench:
        new, before = bench / NEW, bench / BEFORE
        yield new
        before.mkdir()
        with uninterrupted(), alone(folder):
            if listing.read(folder) != record:
                raise FileExistsError(f"{folder} was changed meanwhile: try again")
            out = own_files(folder, names, drop)
            moves = [(folder / name, before / name) for name in out]
            with renamed(moves + [(new / name, folder / name) for name in names]):
                os.replace(new / listing.LISTING, folder / listing.LISTING)
            for name in out:
                (before / name).unlink()


def own_files(folder: Path, names: Collection[str], drop: Collection[str]) -> list[str]:
    """Return those of two lists of files that exist; raise if one is not this program's."""
    different = {folded(name): name for name in [*names, *drop]}  # as disks that ignore case see it
    existing = [name for name in different.values() if os.path.lexists(folder / name)]
    for name in listing.foreign(folder, existing):
        raise FileExistsError(
            f"{folder / name} was not written by phinmf, or was changed: move it away"
        )
    return existing


@contextmanager
def renamed(moves: list[tuple[Path, Path]]) -> Iterator[None]:
    """Rename files or folders to names that are free; if one fails, or the block, rename back."""
    done: list[tuple[Path, Path]] = []
    try:
        for source, target in moves:
            if os.path.lexists(target):
                raise FileExistsError(f"{target} exists already: move it away")
            os.rename(source, target)
            done.append((source, target))
        yield
    except BaseException:
        for source, target in reversed(done):
            os.rename(target, source)
        raise


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

    If the folder above that does not exist yet, it is in the nearest one that does.
    """
    above = next(folder for folder in final.absolute().parents if os.path.lexists(folder))
    bench: Path | None = None
    try:
        with uninterrupted():
            try:
                bench = Path(tempfile.mkdtemp(prefix=".phinmf-", dir=above))
                (bench / NEW).mkdir()
            except OSError as error:
                raise unwritable(final, error) from None
        yield bench
    except OSError as error:
        raise (unwritable(final, error) if error.errno in FULL else error) from None
    finally:
        try:
            clean(bench)
        finally:
            clean(bench)  # a signal may have come before the first call began


def clean(bench: Path | None) -> None:
    """Remove a workshop, if there is one; it may be called twice."""
    if bench is None:
        return
    with uninterrupted():
        shutil.rmtree(bench / NEW, ignore_errors=True)
        for folder in (bench / BEFORE, bench):
            with suppress(OSError):  # not empty: files that could not be put back are kept
                folder.rmdir()


def unwritable(folder: Path, error: OSError) -> OSError:
    """Return the error for a folder that the system cannot write to."""
    if error.errno in TOO_MANY_OPEN:
        advice = "use fewer components, since each has an open file, or raise the limit (ulimit -n)"
    elif error.errno in FULL:
        advice = "free space on the disk, or choose another folder"
    else:
        advice = "choose another folder"
    why = error.strerror or os.strerror(error.errno or 0)
    named = OSError(f"{folder} cannot be written ({why}): {advice}")
    named.errno = error.errno  # in a workshop inside another one, the outer folder is named instead
    return named
