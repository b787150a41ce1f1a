"""Arrays and a JSON header in one .npz file, written completely or not at all, checked when read.

Pickle is never used. Members are stored uncompressed, so a file cannot unpack to more than its own
size, and every member has a checksum.
"""

from __future__ import annotations

import io
import json
import os
import secrets
import stat
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from phinmf._types import Array

VERSION = 1  #: of the format
UNMIX_MODEL = "model of unmix"  #: kind of the file of an `UnmixModel`
LABELS = {
    "model": "model of TLNMF",
    UNMIX_MODEL: UNMIX_MODEL,
}  #: in messages
DESCRIPTORS = "/proc/self/fd"  #: where Linux shows the open files of a process


class NotOurs(Exception):
    """An intact .npz file that something else has written."""


class Stored(NamedTuple):
    """The contents of a file."""

    header: dict[str, Any]
    arrays: dict[str, Array]


def write(
    path: str | os.PathLike[str],
    kind: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, Array],
    keep_previous: bool = False,
) -> None:
    """Write a file that gets its name when it is complete: readers see the old or the new one.

    Only a file of the same kind is replaced; the new one has its permissions. Where the previous
    one is kept, the caller has checked the kind, once for many writes.
    """
    path = writable(path)
    if not keep_previous:
        refuse_other_files(path, kind)
    text = json.dumps({"format": "phinmf", "kind": kind, "version": VERSION, **header})
    with unfinished(path) as (file, give_name):
        pack(file, {"header": np.array(text), **arrays})
        file.flush()
        os.fsync(file.fileno())
        if keep_previous and path.exists():
            os.replace(path, previous(path))
        give_name()


def pack(file: BinaryIO, arrays: Mapping[str, Array]) -> None:
    """Write an .npz file without pickle: np.savez can refuse it only from NumPy 2.2 on."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def named(path: Any, what: str = "file") -> Path:
    """Return the given path, or raise if it is none."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"the path is {path!r}, but the name of a {what} is needed")
    return Path(path)


def writable(path: Any) -> Path:
    """Return the file to write, which a link leads to; no folder, device or pipe is replaced."""
    path = named(path)
    if not path.name or "\0" in str(path) or (path.exists() and not path.is_file()):
        raise ValueError(f"{str(path)!r} is not a file: name one to write to")
    if path.is_symlink() and not (path.exists() or previous(path).exists()):
        raise ValueError(f"{path} is a link to a file that does not exist: name the file itself")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written because its folder does not exist")
    return target(path)


def target(path: Path) -> Path:
    """Return the file that a link leads to, or the path itself."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def refuse_other_files(path: Path, kind: str) -> None:
    """Raise if a file would be replaced that is not of this kind; an empty one may be."""
    if not path.exists() or path.stat().st_size == 0:
        return
    try:
        read(path, kind)
    except ValueError:
        raise ValueError(
            f"{path} exists and is not a {label(kind)}: name another file, or remove this one"
        ) from None


def label(kind: Any) -> str:
    """Return a kind of file as messages call it."""
    return LABELS.get(str(kind), f"{kind} of phinmf")


@contextmanager
def unfinished(path: Path) -> Iterator[tuple[BinaryIO, Callable[[], None]]]:
    """Open a new file in the folder of the path; the function beside it gives the file that name.

    On Linux the file has no name until then, so that nothing is left even if the process is killed.
    On other systems it has a unique temporary name.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.phinmf")
    try:
        with nameless(path.parent) or new_file(temporary, path) as file:
            with suppress(FileNotFoundError):  # another process may move it just now
                if os.chmod in os.supports_fd:
                    os.chmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))

            def give_name() -> None:
                if temporary.exists():
                    file.close()  # Windows renames no open file
                    os.replace(temporary, path)
                    return
                try:
                    link(file, path)
                except FileExistsError:
                    link(file, temporary)
                    os.replace(temporary, path)

            yield file, give_name
    finally:
        temporary.unlink(missing_ok=True)


def new_file(temporary: Path, path: Path) -> BinaryIO:
    """Open a new file under a temporary name; an error names the path that was asked for."""
    try:
        return open(temporary, "xb")
    except OSError as error:
        raise type(error)(
            error.errno, f"no file can be written here ({error.strerror}), name another", str(path)
        ) from None


def nameless(folder: Path) -> BinaryIO | None:
    """Open a file without a name in a folder; None where the system has no such files."""
    if not (hasattr(os, "O_TMPFILE") and os.path.isdir(DESCRIPTORS)):
        return None
    try:
        return os.fdopen(os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666), "wb")
    except OSError:
        return None


def link(file: BinaryIO, path: Path) -> None:
    """Give a file without a name one that no other file has."""
    descriptors = os.open(DESCRIPTORS, os.O_RDONLY)
    try:
        os.link(str(file.fileno()), path, src_dir_fd=descriptors)
    finally:
        os.close(descriptors)


def previous(path: str | os.PathLike[str]) -> Path:
    """Path at which the previous version of a file is kept, beside the target of a link."""
    return Path(f"{target(Path(path))}.previous")


def read(path: str | os.PathLike[str], kind: str) -> Stored:
    """Read a file of this kind; raise a ValueError of one sentence if anything is wrong with it."""
    path = named(path)
    if not path.exists():
        raise FileNotFoundError(f"{str(path)!r} does not exist")
    if not path.is_file():
        raise ValueError(f"{path} is not a file, but a phinmf {kind} is needed")
    try:
        header, arrays = unpack(path)
    except NotOurs:
        raise ValueError(
            f"{path} is not a file of phinmf, but a phinmf {kind} is needed: name one that phinmf"
            " has written"
        ) from None
    except Exception as error:
        why = shortened(str(error))
        raise ValueError(f"{path} is damaged or not a phinmf file ({why})") from error
    ours = header.get("format") == "phinmf"
    if not ours or header.get("kind") != kind:
        found = label(header.get("kind")) if ours else header.get("format")
        raise ValueError(f"{path} holds {shown(found)}, but a {label(kind)} is needed")
    if header.get("version") != VERSION:
        raise ValueError(
            f"{path} has format version {shown(header.get('version'))}, but this phinmf reads"
            f" version {VERSION}: use the phinmf that wrote it, or a newer one"
        )
    return Stored(header, arrays)


def shown(value: Any) -> str:
    """A value from a file, short enough for an error message."""
    return shortened(repr(value))


def shortened(text: str) -> str:
    """A text on one line, of at most 160 characters."""
    text = " ".join(text.split())
    return text if len(text) <= 160 else f"{text[:160]}…"


def unpack(path: Path) -> Stored:
    """Read every member, checksums included."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if members and not any(m.filename == "header.npy" for m in members):
            raise NotOurs
        if any(m.compress_type != zipfile.ZIP_STORED for m in members):
            raise ValueError("it is compressed")
        if sum(m.file_size for m in members) > path.stat().st_size:
            raise ValueError("its members overlap")
        arrays = {m.filename.removesuffix(".npy"): array_of(archive.read(m)) for m in members}
    header = json.loads(str(arrays.pop("header")))
    if not isinstance(header, dict):
        raise ValueError("its header is not an object")
    return Stored(header, arrays)


def array_of(member: bytes) -> Array:
    """The array in the bytes of an .npy file, whose size must be that of its header."""
    stream = io.BytesIO(member)
    version = np.lib.format.read_magic(stream)
    reader = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    shape, fortran, dtype = reader(stream)
    if dtype.kind not in "fiubU":
        raise ValueError(f"it holds {dtype}")
    flat = np.frombuffer(member, dtype, offset=stream.tell())
    return flat.reshape(shape, order="F" if fortran else "C").copy(order="K")
