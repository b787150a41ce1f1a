"""Frames that do not fit into memory: shards take turns, with X in scratch files.

Y is read from its source, an array of dask, again and again, while one thread reads the next shard
ahead. A file holds X as it was when it was last needed; matrices that were applied since then are
multiplied when it is read, in the same order as in memory, so the bits are the same. Files are
read and written as a whole: mapped into memory they would count as used memory.
"""

from __future__ import annotations

import math
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from phinmf._types import AnyArray, Array, Precision
from phinmf.arrays import lazy, room_for_frames
from phinmf.engines.compiled.frames import FrameStore
from phinmf.engines.compiled.shard import Shard

#: Arrays as large as the frames that a fit in memory may come to hold: in double precision Y, X
#: and a trial point, and while these are at rest Y, X and a trial point in single precision.
ARRAYS_IN_MEMORY = 4.5

#: Arrays as large as a shard that are in memory at the same time: X, the memory to multiply it in,
#: and what is read ahead for the next shard, from chunks.
ARRAYS_ON_DISK = 5

ASSUMED_MEMORY = 2**33  #: bytes, where the system does not say how much is free
LEAST_MEMORY = 2**26  #: bytes that are always used


class FramesOnDisk(FrameStore):
    """Shards in turn, of a dask array (C, M, N) or of its products with atoms (P, M)."""

    def __init__(
        self, shards: Sequence[Shard], source: AnyArray, dtype: Precision, atoms: Array | None
    ) -> None:
        self.shards = shards
        folder = lazy.dask().config.get("temporary-directory", None)
        if folder is not None:
            Path(folder).mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="phinmf-", dir=folder))
        self._remove = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.files = [
            StoredX(shard, self.folder / str(i), source, dtype, atoms)
            for i, shard in enumerate(shards)
        ]

    def originals(self) -> Iterator[tuple[Shard, Array]]:
        for file, Y in self._in_turn(StoredX.read_Y):
            yield file.shard, file.with_atoms(Y)

    def transformed(self) -> Iterator[tuple[Shard, Array]]:
        for file, X in self._in_turn(StoredX.read):
            yield file.shard, file.brought_up_to_date(X)

    def rest(self) -> None:
        for file in self.files:
            file.forget()

    def rotate(self, Phi: Array) -> None:
        self.rest()
        self.move(Phi)

    def move(self, T: Array) -> None:
        for file in self.files:
            file.pending.append(T)

    def close(self) -> None:
        self._remove()

    def _in_turn(self, read: Callable[[StoredX], Array]) -> Iterator[tuple[StoredX, Array]]:
        """Read every shard, the next one while the caller computes with one."""
        with ThreadPoolExecutor(1) as reader:
            ahead = reader.submit(read, self.files[0])
            for i, file in enumerate(self.files):
                frames = ahead.result()
                if i + 1 < len(self.files):
                    ahead = reader.submit(read, self.files[i + 1])
                yield file, frames
                del frames


class StoredX:
    """X of a shard as of some time, in a file, and the matrices that it was multiplied by since."""

    def __init__(
        self, shard: Shard, path: Path, source: AnyArray, dtype: Precision, atoms: Array | None
    ) -> None:
        self.shard, self.path = shard, path
        self.source, self.dtype, self.atoms = source, dtype, atoms
        self.pending: list[Array] = []  #: matrices, the first one first
        self.stored = False  #: whether there is a file; otherwise the matrices are applied to Y

    def read_Y(self) -> Array:
        """Return the frames of the source (C, n, M)."""
        return read_frames(self.source, self.shard.frames, self.dtype)

    def read(self) -> Array:
        """Return X as it is stored, or Y of the source."""
        if not self.stored:
            return self.read_Y()
        C, M, _ = self.source.shape
        n = self.shard.frames.stop - self.shard.frames.start
        X = room_for_frames((C, n, M if self.atoms is None else len(self.atoms)), self.dtype)
        with self.path.open("rb") as file:
            for channel in X:
                file.readinto(channel.data)
        return X

    def with_atoms(self, Y: Array) -> Array:
        """Return frames of the source, or their products with the atoms."""
        return Y if self.atoms is None else self.shard.rotated(Y, self.atoms)

    def brought_up_to_date(self, X: Array) -> Array:
        """Return X from what was read, and store it if it has changed."""
        if not self.stored:
            X = self.with_atoms(X)
        if self.pending:
            spare = room_for_frames(X.shape, X.dtype)
            for T in self.pending:
                X, spare = self.shard.rotated(X, T, spare), X
            new = self.path.with_suffix(".new")
            with new.open("wb") as file:
                for channel in X:
                    file.write(channel.data)
            new.replace(self.path)  # an interrupt before leaves X and what is pending
            self.stored, self.pending = True, []
        return X

    def forget(self) -> None:
        """Go back to Y."""
        self.stored, self.pending = False, []
        self.path.unlink(missing_ok=True)


def read_frames(source: AnyArray, frames: slice, dtype: Precision) -> Array:
    """Return some frames (C, n, M) of a dask array (C, M, N), computed chunk by chunk."""
    C, M, _ = source.shape
    Y = room_for_frames((C, frames.stop - frames.start, M), dtype)
    start = 0
    for chunk in source[:, :, frames].to_delayed().ravel():
        part = chunk.compute()
        Y[:, start : start + part.shape[2]] = part.transpose(0, 2, 1)
        start += part.shape[2]
    return Y


def shards_needed(shape: tuple[int, int, int], dtype: Precision, atoms: Array | None) -> int:
    """Return into how many shards frames (C, M, N) are cut, each as large as the memory allows.

    1 means that all frames are held in memory.
    """
    C, M, N = shape
    source, budget = 0, memory_budget()
    if atoms is not None:  # all M samples are read before they are multiplied
        source, M = C * M * N * dtype.itemsize, len(atoms)
    size = C * M * N * dtype.itemsize
    if ARRAYS_IN_MEMORY * size + source <= budget:
        return 1
    return 2 ** max(0, math.ceil(math.log2((ARRAYS_ON_DISK * size + source) / budget)))


def memory_budget() -> float:
    """Return the bytes that ``phinmf.memory`` of dask's configuration allows, or half of the rest.

    Raises
    ------
    ValueError
        If the setting is not a positive amount of memory.
    """
    dask = lazy.dask()
    setting = dask.config.get("phinmf.memory", available_memory() // 2)
    try:
        budget = float(dask.utils.parse_bytes(setting))
    except (AttributeError, TypeError, ValueError):
        budget = 0.0
    if not budget > 0:
        raise ValueError(f"phinmf.memory is {setting!r}, but some memory is needed, such as 2GB")
    return budget


def available_memory() -> int:
    """Return the bytes of memory that other programs leave, within the limit of a container."""
    limits = [ASSUMED_MEMORY]
    try:
        fields = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
        limits = [1024 * int(f[1]) for f in fields if f[0] == "MemAvailable:"] or limits
        group = Path("/sys/fs/cgroup")
        limit = (group / "memory.max").read_text().strip()
        if limit != "max":
            limits.append(int(limit) - int((group / "memory.current").read_text()))
    except (OSError, ValueError, IndexError):  # another system, or no such limit
        pass
    return max(min(limits), LEAST_MEMORY)
