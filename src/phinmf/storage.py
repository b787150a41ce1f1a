"""The one file format: named arrays and a JSON header in an .npz file, without pickle.

* A file is written beside its place, flushed to the disk and renamed: readers see the old or the
  new one, complete. A process that is killed meanwhile leaves a hidden file ``.name.….phinmf``.
* Through a symbolic link its target is written, and a file that is replaced keeps its mode.
* Only a file of the same kind is replaced, or an empty one.
* Members are stored uncompressed, so that a file cannot unpack to more than its own size, and every
  member has a checksum, which is verified when it is read.

What the arrays of each kind of file must be is written down in a table: see `phinmf.entries`.
"""

from __future__ import annotations

import io
import json
import os
import platform
import secrets
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from phinmf._types import Array
from phinmf.errors import InvalidType, InvalidValue

VERSION = 2  #: of the format


class Stored(NamedTuple):
    """The contents of a file."""

    header: dict[str, Any]
    arrays: dict[str, Array]


def write(
    path: str | os.PathLike[str],
    kind: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, Array],
) -> None:
    """Write a file of a kind such as ``"result"``."""
    check_place(path, kind)
    path = Path(os.path.realpath(path))
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    own = {"format": "phinmf", "kind": kind, "version": VERSION, "versions": versions}
    members: dict[str, Any] = {"header": np.array(json.dumps(own | dict(header))), **arrays}
    if any(np.asarray(member).dtype.hasobject for member in members.values()):
        raise ValueError("an array of objects would be pickled, and is not stored")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.phinmf")
    try:
        with new_file(temporary, path) as file:
            with suppress(FileNotFoundError):  # there is none yet
                shutil.copymode(path, temporary)
            np.savez(file, **members)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def new_file(temporary: Path, path: Path) -> BinaryIO:
    """Open a new file under a temporary name; an error names the path that the user passed."""
    try:
        return open(temporary, "xb")
    except OSError as error:
        raise type(error)(
            error.errno, f"no file can be written here ({error.strerror}), name another", str(path)
        ) from None


def check_place(path: str | os.PathLike[str], kind: str) -> None:
    """Raise unless a file of this kind can be written to a path, and may be."""
    path = named(path)
    if not path.name:
        raise InvalidValue(f"{str(path)!r} is not a file: name one to write to")
    if path.is_symlink() and not path.exists():
        raise InvalidValue(f"{path} is a link to a file that does not exist: name the file itself")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written because its folder does not exist")
    empty = path.is_file() and path.stat().st_size == 0
    if path.exists() and not empty and kind_of(path) != kind:
        raise InvalidValue(
            f"{path} exists and is not a {kind} of phinmf: name another file, or remove this one"
        )


def kind_of(path: Path) -> str | None:
    """Return the kind of a file of any version, from its header alone; None if it has none."""
    if not path.is_file():
        return None
    try:
        with open(path, "rb") as file, opened(file) as archive:
            return str(header_of(archive)["kind"])
    except MemoryError:
        raise
    except Exception:  # zipfile and NumPy raise many kinds of errors on damaged files
        return None


def named(path: Any, what: str = "file") -> Path:
    """Return a path, or raise if the value is none."""
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidType(f"the path is {path!r}, but the name of a {what} is needed")
    if "\0" in str(path):  # of which the system says nothing that a user understands
        raise InvalidValue(f"the path is {str(path)!r}, but no {what} has a null character in it")
    return Path(path)


def read(path: str | os.PathLike[str], kind: str) -> Stored:
    """Read a file of this kind; raise a ValueError of one sentence if anything is wrong with it."""
    path = named(path)
    if not path.exists():
        raise FileNotFoundError(f"{str(path)!r} does not exist")
    if not path.is_file():
        raise InvalidValue(f"{path} is not a file, but a {kind} of phinmf is needed")
    damaged = "is damaged or not a file of phinmf"
    with open(path, "rb") as file:
        with refusing(path, damaged, Exception):
            archive = opened(file)
            header = header_of(archive)
        check_header(path, header, kind)
        with archive, refusing(path, damaged, Exception):
            return Stored(header, arrays_of(archive))


@contextmanager
def refusing(path: str | os.PathLike[str], what: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn errors that the contents of a file cause into one sentence about it.

    A lack of memory says nothing about the file and is raised as it is.
    """
    try:
        yield
    except MemoryError:
        raise
    except errors as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise InvalidValue(f"{path} {what}: {shortened(why)}") from error


def usable(path: str | os.PathLike[str], kind: str) -> Any:
    """Turn what a reader raises on impossible contents into one sentence that names the file."""
    errors = (KeyError, TypeError, ValueError, AttributeError, OverflowError)
    return refusing(path, f"is not a usable {kind}", *errors)


def opened(file: BinaryIO) -> zipfile.ZipFile:
    """Open an archive that cannot unpack to more than its own size."""
    archive = zipfile.ZipFile(file)
    members = archive.infolist()
    if any(m.compress_type != zipfile.ZIP_STORED for m in members):
        raise ValueError("it is compressed")
    if sum(m.file_size for m in members) > file.seek(0, os.SEEK_END):
        raise ValueError("its members overlap")
    return archive


def header_of(archive: zipfile.ZipFile) -> dict[str, Any]:
    """Return the JSON header."""
    header = json.loads(str(array_of(archive.read("header.npy"))))
    if not isinstance(header, dict) or header.get("format") != "phinmf":
        raise ValueError("its header is not one of phinmf")
    return header


def check_header(path: Path, header: Mapping[str, Any], kind: str) -> None:
    """Raise unless a file has this kind and the version that is read here."""
    version = header.get("version")
    if version != VERSION:
        newer = isinstance(version, int) and version > VERSION
        advice = "update phinmf" if newer else "make it again, or use the phinmf that wrote it"
        raise InvalidValue(
            f"{path} has format version {shown(version)}, but this phinmf reads version {VERSION}:"
            f" {advice}"
        )
    if header.get("kind") != kind:
        raise InvalidValue(
            f"{path} is a {shortened(str(header.get('kind')))} of phinmf, but a {kind} is needed"
        )


def arrays_of(archive: zipfile.ZipFile) -> dict[str, Array]:
    """Return all members but the header; checksums are verified."""
    names = [name for name in archive.namelist() if name != "header.npy"]
    return {name.removesuffix(".npy"): array_of(archive.read(name)) for name in names}


def array_of(member: bytes) -> Array:
    """The array in the bytes of an .npy file, whose size must be that of its header."""
    stream = io.BytesIO(member)
    version = np.lib.format.read_magic(stream)
    reader = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    shape, fortran, dtype = reader(stream)
    flat = np.frombuffer(member, dtype, offset=stream.tell())
    return flat.reshape(shape, order="F" if fortran else "C").copy(order="K")


def shown(value: Any) -> str:
    """A value from a file, short enough for an error message."""
    return shortened(repr(value))


def shortened(text: str) -> str:
    """A text on one line, of at most 160 characters."""
    text = " ".join(text.split())
    return text if len(text) <= 160 else f"{text[:160]}…"
