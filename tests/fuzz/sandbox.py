"""A folder with files of a user, and what a command changed in it."""

import hashlib
import os
import shutil
import stat
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fuzz.hostile_names import NAMES, one_of


class Entry(NamedTuple):
    """Everything about a file, a link or a folder that must not change."""

    mode: int
    content: str  # checksum, target of a link, or nothing
    identity: tuple[int, int]  # inode and time of change, of files


def state(top: Path) -> dict[str, Entry]:
    """Everything below a folder."""
    found = {}
    for folder, folders, files in os.walk(top):
        for name in [*folders, *files]:
            path = os.path.join(folder, name)
            seen, content, identity = os.lstat(path), "", (0, 0)
            if stat.S_ISLNK(seen.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(seen.st_mode):
                content = hashlib.sha256(Path(path).read_bytes()).hexdigest()
                identity = seen.st_ino, seen.st_mtime_ns
            found[os.path.relpath(path, top)] = Entry(seen.st_mode, content, identity)
    return found


def furnish(top: Path, rng: np.random.Generator, finished: Path) -> dict[str, str]:
    """Fill a folder; return the files that phinmf wrote and nobody changed, with checksums."""
    for _ in range(int(rng.integers(2, 6))):
        above = one_of(
            rng, [top, *(p for p in top.rglob("*") if p.is_dir() and not p.is_symlink())]
        )
        path = above / one_of(rng, NAMES)
        if not os.path.lexists(path):
            foreign(path, rng, top)
    ours = {}
    if rng.random() < 0.6:
        for name in {one_of(rng, ["song", "a song", "[red]x"]), "song"}:
            folder = top / "out" / name
            if not os.path.lexists(folder) and not (top / "out").is_symlink():
                if os.path.lexists(top / "out") and not (top / "out").is_dir():
                    break
                ours |= copy(finished, folder, top)
    return ours


def copy(finished: Path, folder: Path, top: Path) -> dict[str, str]:
    """Put a finished folder somewhere."""
    folder.mkdir(parents=True)
    ours = {}
    for path in finished.iterdir():
        shutil.copy2(path, folder / path.name)
        relative = os.path.relpath(folder / path.name, top)
        ours[relative] = hashlib.sha256(path.read_bytes()).hexdigest()
    return ours


def foreign(path: Path, rng: np.random.Generator, top: Path) -> None:
    """Make a file, a folder or a link that phinmf has nothing to do with."""
    kind = rng.integers(6)
    if kind < 2:
        path.write_bytes(rng.bytes(int(rng.integers(40))))
        path.chmod(int(one_of(rng, [0o644, 0o444, 0o600])))
    elif kind < 4:
        path.mkdir()
        if rng.random() < 0.7:
            name = one_of(
                rng, ["thesis.tex", "component_01.wav", "result.json", ".phinmf-x", "new"]
            )
            (path / name).write_bytes(one_of(rng, [b"{}", b"", b"[1", rng.bytes(20)]))
    else:
        inside = [p for p in top.rglob("*") if p != path]
        target = one_of(rng, ["nowhere", ".", "..", os.devnull, *map(str, inside)])
        path.symlink_to(target)


def remove(path: Path) -> None:
    """Remove a file, or the folder that an earlier edit put in its place."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def edit(folder: Path, rng: np.random.Generator, ours: dict[str, str], top: Path) -> None:
    """Do something to a finished folder that its owner might do; what changed is no longer ours."""
    path = one_of(rng, sorted(p for p in folder.iterdir()))
    relative = os.path.relpath(path, top)
    kind = rng.integers(8)
    if kind == 0:
        remove(path)
    elif path.name == "result.json" and kind in (1, 2):
        return  # what it says by hand is not kept
    elif kind == 1 and path.is_file() and path.stat().st_size:
        data = bytearray(path.read_bytes())
        data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)
    elif kind == 2 and path.is_file():
        path.write_bytes(path.read_bytes()[: int(rng.integers(1 + path.stat().st_size))])
    elif kind == 3:
        elsewhere = top / "moved"
        if not os.path.lexists(elsewhere):
            path.rename(elsewhere)
            path.symlink_to(elsewhere)
    elif kind == 4:
        remove(path)
        path.mkdir()
    elif kind == 5:
        path.rename(folder / f"{one_of(rng, NAMES[:16])}-")
    elif kind == 6 and not os.path.lexists(new := folder / one_of(rng, NAMES)):
        foreign(new, rng, top)
    elif kind == 7:
        (folder / one_of(rng, ["a.wav", "part_1.wav", "bass.wav", "REST.wav"])).write_bytes(b"mine")
    for name in [relative, os.path.relpath(folder / "result.json", top)]:
        whole = top / name
        same = whole.is_file() and not whole.is_symlink()
        if not same or hashlib.sha256(whole.read_bytes()).hexdigest() != ours.get(name):
            ours.pop(name, None)


def changes(
    before: dict[str, Entry], after: dict[str, Entry], ours: dict[str, str]
) -> tuple[list[str], list[str]]:
    """What of others was lost or changed, and the names of what is new or was replaced."""
    lost, new = [], []
    for name, entry in before.items():
        if after.get(name) == entry:
            continue
        folder = stat.S_ISDIR(entry.mode) and name in after and stat.S_ISDIR(after[name].mode)
        if name in ours or folder:
            new += [name] * (name in after)
        else:
            lost.append(name)
    new += [name for name in after if name not in before]
    return lost, new
