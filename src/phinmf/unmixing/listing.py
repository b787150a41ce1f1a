"""result.json: what it says about a folder of components, and which of its files it lists.

Invariant: only a file that is listed, is no link, has the size that is listed and was not modified
later is ever removed or replaced. result.json itself is this program's.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from phinmf.audio import SampleFormat, Sound
from phinmf.errors import InvalidValue
from phinmf.unmixing import typed_json
from phinmf.unmixing.mix import Mix, check_mix
from phinmf.unmixing.options import Plain

LISTING, MODEL, PAGE, OVERVIEW = "result.json", "model.npz", "report.html", "overview.npy"
MARKS = "marks.json"
MARK = {"program": "phinmf", "layout": 2}  #: distinguishes the file from others of the same name


@dataclass(frozen=True)
class NullTest:
    """How files that were read again add up to the whole that they are parts of."""

    exact: bool  #: bit for bit
    rounded: bool  #: bit for bit to the whole, rounded to the bits of the files
    silent: bool  #: whether the whole is silent
    db: float | None  #: difference relative to the whole, or to full scale; None: no difference


@dataclass(frozen=True)
class ComponentRecord:
    """One component: its file, its share of the energy, and its levels (None: silence)."""

    file: str
    share: float
    rms_db: float | None
    peak_db: float | None


@dataclass(frozen=True)
class GroupRecord:
    """A group: its file, and the numbers of its components, counted from 1."""

    file: str
    components: list[int]


@dataclass(frozen=True)
class FileRecord:
    """Size of a file that this program wrote, and when it was modified."""

    bytes: int
    modified: int  #: milliseconds since 1970


@dataclass(frozen=True)
class FolderRecord:
    """Everything about one unmixing, and a list of the files that belong to it."""

    track: str  #: name of the folder
    source: Sound | None  #: the recording; its path is the bare name; None: an array in memory
    start: int  #: first sample of the recording that was unmixed
    length: int  #: samples that were unmixed
    components: list[ComponentRecord]
    format: str
    subtype: str
    exact: bool  #: whether the components add up to the recording itself, bit for bit
    null_test: NullTest  #: of the components and the recording as decoded
    similarity: list[list[float]]  #: (K, K): how alike components are, see similarity.py
    window: int  #: samples of a frame
    objective: float | None
    n_iter: int
    stop_reason: str
    n_atoms: int  #: number of atoms that were learned
    energy: float  #: share of the energy that these hold
    seconds: dict[str, float]  #: of each stage
    versions: dict[str, str]
    options: dict[str, Plain] | None = None  #: None: saved from memory
    model: str | None = None  #: name of the file of a model that was used
    mix: Mix = field(default_factory=Mix)  #: groups and levels that a listener chose
    groups: dict[str, GroupRecord] = field(default_factory=dict)  #: that were written as files
    groups_null_test: NullTest | None = None  #: of the groups and the sum of the components
    files: dict[str, FileRecord] = field(default_factory=dict)

    @property
    def sample_format(self) -> SampleFormat:
        """How the samples of the files are stored."""
        return SampleFormat(self.format, self.subtype)

    def to_json(self) -> dict[str, object]:
        """Return what json.dumps writes."""
        values: dict[str, object] = MARK | asdict(self)
        if self.source is not None:
            values["source"] = asdict(self.source) | {"path": str(self.source.path)}
        return values

    @classmethod
    def from_json(cls, value: object) -> FolderRecord:
        """Return a record from what json.loads has read; raise ValueError if it says nonsense."""
        record = typed_json.parse(cls, value)
        K = len(record.components)
        if K == 0 or [len(row) for row in record.similarity] != [K] * K:
            raise ValueError("the number of components is not the same everywhere")
        if record.start < 0 or record.length < 1:
            raise ValueError("the recording has no such stretch")
        for group in record.groups.values():
            if not all(1 <= number <= K for number in group.components):
                raise ValueError("a group has a component that does not exist")
        check_mix(record.mix, K)
        return record


def file_record(path: Path) -> FileRecord:
    """Return what result.json states about a file: its size, and when it was modified."""
    status = path.stat()
    return FileRecord(status.st_size, status.st_mtime_ns // 1_000_000)


def write(
    folder: Path, record: FolderRecord, add: Iterable[str], drop: Iterable[str] = ()
) -> FolderRecord:
    """Write result.json with the files it listed, without `drop` and with `add`; return it."""
    files = {name: entry for name, entry in record.files.items() if name not in set(drop)}
    files |= {name: file_record(folder / name) for name in add}
    record = replace(record, files=files)
    with open(folder / LISTING, "w", encoding="ascii") as file:
        json.dump(record.to_json(), file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    return record


def read(folder: Path) -> FolderRecord:
    """Return what result.json says; raise ValueError if this program did not write it."""
    try:
        content = json.loads(inside(folder, LISTING).read_bytes())
        marked = all(content[key] == MARK[key] for key in MARK)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        marked = False
    if not marked:
        raise InvalidValue(
            f"{folder} is not a folder that phinmf unmix has written (or another version wrote it):"
            " unmix the recording again"
        )
    try:
        return FolderRecord.from_json(content)
    except ValueError:
        raise damaged(folder) from None


def damaged(folder: Path) -> InvalidValue:
    """Return the error for a result.json whose content is nonsense."""
    return InvalidValue(f"{folder / LISTING} is damaged: unmix again")


def inside(folder: Path, name: str) -> Path:
    """Return the path of a file that result.json names: in its folder, and not a link."""
    plain = name not in ("", ".", "..") and "\0" not in name and "\\" not in name
    if plain and os.path.basename(name) == name:
        path = folder / name
        try:
            if stat.S_ISREG(path.lstat().st_mode):
                return path
        except OSError:
            pass
    raise InvalidValue(f"{folder / LISTING} names {name!r}, which is not a file of its folder")


def foreign(folder: Path, names: Iterable[str]) -> list[str]:
    """Return those of some names in a folder that this program did not write as they are now."""
    try:
        listed = read(folder).files
    except ValueError:
        return [*names]
    return [name for name in names if not as_written(folder, name, listed)]


def as_written(folder: Path, name: str, listed: dict[str, FileRecord]) -> bool:
    """Whether a file is listed and as it was written, as far as its size and its time tell."""
    try:
        current = file_record(inside(folder, name))
    except ValueError:
        return False
    if name == LISTING:
        return True
    entry = listed.get(name)
    return entry is not None and (
        current.bytes == entry.bytes and current.modified <= entry.modified
    )
