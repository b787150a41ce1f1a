"""Finished files take their place together or not at all, whatever interrupts."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from phinmf.unmixing import ownership

NEW, BEFORE = "new", "before"  #: folders of a workshop: what is to come, and what was there
SPARE = 4  #: files that are kept open, to be closed when cleaning up needs to open folders
SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
#: why a system refuses to write where it could before
FULL = {
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EFBIG", "EIO", "EROFS", "EMFILE", "ENFILE")
    if hasattr(errno, name)
}


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let signals that end a program wait until a few steps are done together."""
    waiting: list[int] = []
    before: dict[int, Any] = {}

    def wait(number: int, frame: Any) -> None:
        waiting.append(number)

    try:
        with suppress(ValueError):  # not in the main thread, which alone is interrupted
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
def workshop(final: Path) -> Iterator[Path]:
    """Yield a fresh folder beside another one; it is gone afterwards.

    So are folders above it that were made for it, if they are empty.
    """
    made: list[Path] = []
    spare: list[int] = []
    bench: Path | None = None
    try:
        with uninterrupted():
            for _ in range(SPARE):
                spare.append(os.open(os.devnull, os.O_RDONLY))
            above = final.absolute().parent
            for folder in reversed([above, *above.parents]):
                if not folder.exists():
                    folder.mkdir()
                    made.append(folder)
            bench = Path(tempfile.mkdtemp(prefix=".phinmf-", dir=above))
            (bench / NEW).mkdir()
        yield bench
    except OSError as error:
        raise (unwritable(final, error) if error.errno in FULL else error) from None
    finally:
        try:
            clean(bench, made, spare)
        finally:
            clean(bench, made, spare)  # a signal may have come before the first time began


def clean(bench: Path | None, made: list[Path], spare: list[int]) -> None:
    """Remove a workshop and the empty folders that were made for it; twice is the same as once."""
    with uninterrupted():
        while spare:
            os.close(spare.pop())
        for inside in bench.iterdir() if bench is not None and bench.is_dir() else ():
            if inside.name != BEFORE:
                shutil.rmtree(inside, ignore_errors=True)
        empty = [] if bench is None else [bench / BEFORE, bench]
        for folder in (*empty, *reversed(made)):
            with suppress(OSError):  # not empty: what could not be put back is kept
                folder.rmdir()


def unwritable(folder: Path, error: OSError) -> OSError:
    """What is said of a folder that the system cannot write to."""
    advice = (
        "use fewer components, whose files are open together, or raise the limit with ulimit -n"
        if error.errno in (errno.EMFILE, errno.ENFILE)
        else "free space on the disk, or choose another folder"
    )
    return OSError(f"{folder} cannot be written ({error.strerror}): {advice}")


def taken(folder: Path) -> FileExistsError:
    """What is said of a folder that is there already."""
    return FileExistsError(f"{folder} exists already: choose another folder, or add --overwrite")


def put_in_place(bench: Path, final: Path, overwrite: bool, keep: Collection[Path] = ()) -> None:
    """Give the new folder of a workshop its name; the one before goes when that has worked."""
    new, before = bench / NEW, bench / BEFORE
    if os.path.lexists(final) and not overwrite:
        raise taken(final)
    owned = ownership.replaceable(final, keep) if os.path.lexists(final) else None
    with uninterrupted():
        if owned is not None:
            os.rename(final, before)
        try:
            os.rename(new, final)
        except OSError as error:
            there = os.path.lexists(final)  # another run was quicker
            if owned is not None and not there:
                os.rename(before, final)
            elif owned is not None:
                clear(before, owned, final)
            raise (taken(final) if there else error) from None
        if owned is not None:
            clear(before, owned, final)


def clear(before: Path, owned: dict[str, ownership.Identity], final: Path) -> None:
    """Remove a folder that was replaced; what came into it at the last moment stays."""
    try:
        ownership.remove(before, owned)
    except OSError:
        raise OSError(
            f"{final} was replaced, but something was added to it meanwhile, which is now in"
            f" {before}"
        ) from None


@contextmanager
def exchange(folder: Path, result: dict[str, Any], out: Collection[str]) -> Iterator[Path]:
    """Yield an empty folder; what is written there goes into another one, in place of files `out`.

    If anything fails, or its result.json is no longer `result`, the folder is left as it was. The
    files `out` must be this program's; result.json is always one of them.
    """
    out, checksum = [*out, ownership.LISTING], result["checksum"]
    seen = [ownership.identity(folder / name) for name in out]
    with workshop(folder) as bench:
        yield bench / NEW
        (bench / BEFORE).mkdir()
        moves = [(folder / name, bench / BEFORE / name) for name in out]
        moves += [(new, folder / new.name) for new in sorted((bench / NEW).iterdir())]
        with uninterrupted():
            same = seen == [ownership.identity(folder / name) for name in out]
            if not same or ownership.read(folder)["checksum"] != checksum:
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
