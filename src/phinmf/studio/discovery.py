"""What is on the disk already: recordings, and folders that ``phinmf unmix`` has written."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from phinmf.audio import Sound, files
from phinmf.errors import InvalidValue
from phinmf.studio.home import NOTE, Note, place_of, read_note
from phinmf.unmixing import listing


@dataclass(frozen=True)
class Discovery:
    """A recording and its versions; its file, or the folder for new versions, may be missing."""

    name: str
    file: Path | None = None
    folder: Path | None = None  #: where a studio writes its versions
    versions: list[Path] = field(default_factory=list)


def discover(path: Path) -> list[Discovery]:
    """Return what a path on the command line means; raise in one sentence if it means nothing."""
    if not path.is_dir():
        files.excerpt(path)
        return [Discovery(path.name, path)]
    if (path / listing.LISTING).exists():
        return [of_version(path)]
    discoveries = in_folder(path)
    if not discoveries:
        raise InvalidValue(
            f"{path} has no sound files and no folders in it that phinmf unmix has written"
        )
    return discoveries


def in_folder(folder: Path) -> list[Discovery]:
    """Return what a folder holds, in the order it came; of one recording, there may be several."""
    note = read_note(folder)
    if note is not None:
        return [of_note(folder, note)]
    try:
        sounds = [path for path in files.sound_files(folder) if not path.is_symlink()]
    except FileNotFoundError:
        sounds = []
    versions = [of_version(version) for version in versions_in(folder)]
    return [*in_home(folder), *versions, *(Discovery(path.name, path) for path in sounds)]


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
    return Discovery(note.name, path if exists else None, folder, versions_in(folder))


def versions_in(folder: Path) -> list[Path]:
    """Return the folders in a folder that ``phinmf unmix`` has written; links are left out."""
    versions = []
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            try:
                listing.read(entry)
            except ValueError:
                continue
            versions.append(entry)
    return sorted(versions, key=place_of)


def of_version(version: Path) -> Discovery:
    """Return the recording that a single folder of components was made from."""
    source = listing.read(version).source
    if source is None:
        return Discovery(version.absolute().name, versions=[version])
    beside = [version.parent / source.path.name, version.parent.parent / source.path.name]
    file = next((path for path in beside if is_recording(path, source)), None)
    return Discovery(source.path.name, file, versions=[version])


def is_recording(path: Path, source: Sound) -> bool:
    """Whether a file is the recording that a folder was made from, as far as its header says."""
    try:
        return not path.is_symlink() and files.excerpt(path).sound.is_like(source)
    except (OSError, ValueError):
        return False
