"""What `result.json` says about a folder of components."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from phinmf.audio.files import Sound
from phinmf.audio.sample_format import SampleFormat
from phinmf.unmixing import typed_json
from phinmf.unmixing.mix import Mix, check_mix
from phinmf.unmixing.options import Plain

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
    gain_db: float
    exact: bool  #: whether the components add up to the recording itself, bit for bit
    null_test: NullTest  #: of the components and the recording as decoded, at the gain
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
    clipped: int | None = None  #: samples clipped at full scale, all components; None: no loss
    model: str | None = None  #: name of the file of a model that was used
    mix: Mix | None = None  #: groups and levels that a listener chose; None: not yet
    groups: dict[str, GroupRecord] | None = None  #: groups that were written as files
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
