"""What is on the disk already: recordings, and folders that ``phinmf unmix`` has written."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from phinmf.audio import files
from phinmf.audio.files import Sound
from phinmf.studio.home import NOTE, kept, place_of
from phinmf.unmixing import ownership


@dataclass(frozen=True)
class Found:
    """A recording and its takes; its file, or the folder for new takes, may be missing."""

    name: str
    file: Path | None = None
    folder: Path | None = None  #: where a studio writes its takes
    takes: list[Path] = field(default_factory=list)


def found_at(path: Path) -> list[Found]:
    """Return what a path on the command line means; raise in one sentence if it means nothing."""
    if not path.is_dir():
        files.excerpt(path)
        return [Found(path.name, path)]
    if (path / ownership.LISTING).exists():
        return [about(path)]
    inside = found_in(path)
    if not inside:
        raise ValueError(
            f"{path} has no sound files and no folders in it that phinmf unmix has written"
        )
    return inside


def found_in(folder: Path) -> list[Found]:
    """Return what a folder holds: recordings with their takes, in the order they came."""
    note = kept(folder)
    if note is not None:
        return [kept_recording(folder, note.name, note.file)]
    taken: dict[tuple[object, ...], Found] = {}
    for take in takes_in(folder):
        source = ownership.read(take).source
        key = (source.path, source.length, source.sample_rate) if source else (take,)
        known = taken.setdefault(key, about(take))
        if take not in known.takes:
            known.takes.append(take)
    try:
        sounds = [path for path in files.found_in(folder) if not path.is_symlink()]
    except FileNotFoundError:
        sounds = []
    named = {one.file for one in taken.values()}
    others = [Found(path.name, path) for path in sounds if path not in named]
    return [*kept_in(folder), *taken.values(), *others]


def kept_in(home: Path) -> list[Found]:
    """Return the recordings that a studio has written into its folder, in the order they came."""
    folders = [entry for entry in home.iterdir() if not entry.is_symlink() and kept(entry)]
    folders.sort(key=lambda folder: ((folder / NOTE).stat().st_mtime_ns, folder.name))
    return [one for folder in folders for one in found_in(folder)]


def kept_recording(folder: Path, name: str, file: str) -> Found:
    """Return the recording that a folder of the studio is about."""
    path = folder / file  # an absolute path stays as it is
    there = path.is_file() and not (path.parent == folder and path.is_symlink())
    return Found(name, path if there else None, folder, takes_in(folder))


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


def about(take: Path) -> Found:
    """Return the recording that a single folder of components was made from."""
    source = ownership.read(take).source
    if source is None:
        return Found(take.absolute().name, takes=[take])
    beside = [take.parent / source.path.name, take.parent.parent / source.path.name]
    file = next((path for path in beside if is_recording(path, source)), None)
    return Found(source.path.name, file, takes=[take])


def is_recording(path: Path, source: Sound) -> bool:
    """Whether a file is the recording that a folder was made from, as far as its header says."""
    try:
        if path.is_symlink():
            return False
        sound = files.excerpt(path).sound
    except (OSError, ValueError):
        return False
    return sound.is_like(source)
