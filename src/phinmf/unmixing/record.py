"""What `result.json` says about a folder of components."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from phinmf.audio.files import Sound
from phinmf.unmixing import typed_json
from phinmf.unmixing.mix import Mix, check_mix
from phinmf.unmixing.options import Plain

MARK = {"program": "phinmf", "layout": 1}  #: distinguishes the file from others of the same name


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
    """Size and checksum of a file that this program wrote."""

    bytes: int
    sha256: str


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
    gain_db: float
    similarity: list[list[float]]  #: (K, K): how alike components are, see similarity.py
    window: int  #: samples of a frame
    objective: float | None
    n_iter: int
    stop_reason: str
    null_test_db: float | None  #: None: no difference, or the recording is silent
    adds_up: str
    seconds: dict[str, float]  #: of each stage
    versions: dict[str, str]
    options: dict[str, Plain] | None = None  #: None: saved from memory
    n_atoms: int | None = None  #: number of atoms that were learned
    energy: float | None = None  #: share of the energy that these hold
    clipped: int | None = (
        None  #: samples of components that were clipped at full scale; None: no loss
    )
    exact: bool | None = None  #: sum is the recording bit for bit; None: not recorded by 1.0
    model: str | None = None  #: name of the file of a model that was given
    mix: Mix | None = None  #: groups and levels that a listener chose; None: not yet
    groups: dict[str, GroupRecord] | None = None  #: groups that were written as files
    groups_add_up: str | None = None
    files: dict[str, FileRecord] = field(default_factory=dict)
    checksum: str = ""  #: of everything else in result.json, once that is written

    def to_json(self) -> dict[str, object]:
        """Return what json.dumps writes; what is not known is left out, as it was before."""
        values: dict[str, object] = MARK | asdict(self)
        if self.source is not None:
            values["source"] = asdict(self.source) | {"path": str(self.source.path)}
        absent = {"options", "mix", "groups", "groups_add_up", "n_atoms", "energy", "clipped"}
        absent |= {"exact"}
        return {k: v for k, v in values.items() if v is not None or k not in absent}

    @classmethod
    def from_json(cls, value: object) -> FolderRecord:
        """Return a record from what json.loads has read; raise ValueError if it says nonsense."""
        try:
            record = typed_json.parse(cls, value)
        except (TypeError, KeyError, OverflowError):
            raise ValueError("a value is missing or of another kind") from None
        K = len(record.components)
        if K == 0 or [len(row) for row in record.similarity] != [K] * K:
            raise ValueError("the number of components is not the same everywhere")
        if record.start < 0 or record.length < 1:
            raise ValueError("the recording has no such stretch")
        for group in (record.groups or {}).values():
            if not all(1 <= number <= K for number in group.components):
                raise ValueError("a group has a component that does not exist")
        if record.mix is not None:
            check_mix(record.mix, K)
        return record
