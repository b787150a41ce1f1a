"""What is on the disk already: recordings, and folders that ``phinmf unmix`` has written."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from phinmf.audio import files
from phinmf.audio.files import Sound
from phinmf.studio.home import NOTE, Note, place_of, read_note
from phinmf.unmixing import ownership


@dataclass(frozen=True)
class Discovery:
    """A recording and its takes; its file, or the folder for new takes, may be missing."""

    name: str
    file: Path | None = None
    folder: Path | None = None  #: where a studio writes its takes
    takes: list[Path] = field(default_factory=list)


def discover(path: Path) -> list[Discovery]:
    """Return what a path on the command line means; raise in one sentence if it means nothing."""
    if not path.is_dir():
        files.excerpt(path)
        return [Discovery(path.name, path)]
    if (path / ownership.LISTING).exists():
        return [of_take(path)]
    discoveries = in_folder(path)
    if not discoveries:
        raise ValueError(
            f"{path} has no sound files and no folders in it that phinmf unmix has written"
        )
    return discoveries


def in_folder(folder: Path) -> list[Discovery]:
    """Return what a folder holds: recordings with their takes, in the order they came."""
    note = read_note(folder)
    if note is not None:
        return [of_note(folder, note)]
    by_source: dict[tuple[object, ...], Discovery] = {}
    for take in takes_in(folder):
        source = ownership.read(take).source
        key = (source.path, source.length, source.sample_rate) if source else (take,)
        if key in by_source:
            by_source[key].takes.append(take)
        else:
            by_source[key] = of_take(take)
    try:
        sounds = [path for path in files.found_in(folder) if not path.is_symlink()]
    except FileNotFoundError:
        sounds = []
    used = {discovery.file for discovery in by_source.values()}
    others = [Discovery(path.name, path) for path in sounds if path not in used]
    return [*in_home(folder), *by_source.values(), *others]


def in_home(home: Path) -> list[Discovery]:
    """Return the recordings that a studio has written into its folder, in the order they came."""
    notes = {
        entry: note
        for entry in home.iterdir()
        if not entry.is_symlink() and (note := read_note(entry)) is not None
    }
    order = sorted(notes, key=lambda folder: ((folder / NOTE).stat().st_mtime_ns, folder.name))
    return [of_note(folder, notes[folder]) for folder in order]


def of_note(folder: Path, note: Note) -> Discovery:
    """Return the recording that a folder of the studio is about."""
    path = folder / note.file  # an absolute path stays as it is
    exists = path.is_file() and not (path.parent == folder and path.is_symlink())
    return Discovery(note.name, path if exists else None, folder, takes_in(folder))


def takes_in(folder: Path) -> list[Path]:
    """Return the folders in a folder that ``phinmf unmix`` has written; links are left out."""
    takes = []
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            try:
                ownership.read(entry)
            except ValueError:
                continue
            takes.append(entry)
    return sorted(takes, key=place_of)


def of_take(take: Path) -> Discovery:
    """Return the recording that a single folder of components was made from."""
    source = ownership.read(take).source
    if source is None:
        return Discovery(take.absolute().name, takes=[take])
    beside = [take.parent / source.path.name, take.parent.parent / source.path.name]
    file = next((path for path in beside if is_recording(path, source)), None)
    return Discovery(source.path.name, file, takes=[take])


def is_recording(path: Path, source: Sound) -> bool:
    """Whether a file is the recording that a folder was made from, as far as its header says."""
    try:
        return not path.is_symlink() and files.excerpt(path).sound.is_like(source)
    except (OSError, ValueError):
        return False
