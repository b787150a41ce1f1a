"""Arrays and a JSON header in one .npz file, written whole or not at all, and read with suspicion.

No pickle anywhere. Members are stored uncompressed, so a file can never unpack to more than
its own size, and every member carries a checksum.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from phinmf._types import Array

VERSION = 1  #: of the format


class Stored(NamedTuple):
    """What a file holds."""

    header: dict[str, Any]
    arrays: dict[str, Array]


def write(
    path: str | os.PathLike[str],
    kind: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, Array],
    keep_previous: bool = False,
) -> None:
    """Write to a temporary file beside the path, then rename: readers see the old or the new."""
    path = Path(path)
    text = json.dumps({"format": "phinmf", "kind": kind, "version": VERSION, **header})
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            np.savez(file, allow_pickle=False, header=np.array(text), **arrays)
            file.flush()
            os.fsync(file.fileno())
        if keep_previous and path.exists():
            os.replace(path, previous(path))
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def previous(path: str | os.PathLike[str]) -> Path:
    """Where the file before the last one is kept."""
    path = Path(path)
    return path.with_name(path.name + ".previous")


def read(path: str | os.PathLike[str], kind: str) -> Stored:
    """Read a file of this kind; whatever is wrong with it is a ValueError of one sentence."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    try:
        header, arrays = unpack(path)
    except Exception as error:
        raise ValueError(f"{path} is damaged or not a phinmf file ({error})") from error
    if header.get("format") != "phinmf" or header.get("kind") != kind:
        found = header.get("kind") if header.get("format") == "phinmf" else header.get("format")
        raise ValueError(f"{path} holds {found!r}, but a phinmf {kind} is needed")
    if header.get("version") != VERSION:
        raise ValueError(
            f"{path} has format version {header.get('version')!r}, but this phinmf reads version"
            f" {VERSION}: use the phinmf that wrote it, or a newer one"
        )
    return Stored(header, arrays)


def unpack(path: Path) -> Stored:
    """Read every member, checksums included."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
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
    """The array in the bytes of an .npy file, which must hold as much as they say."""
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
