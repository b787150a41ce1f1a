"""Frames that do not fit into memory: shards take turns, with X in scratch files.

Y is read from its source, an array of dask, again and again, while one thread reads the next shard
ahead. Nothing but the method that computes with a shard refers to its frames, so that they are
freed before others are read. A file holds X as it was when it was last needed; matrices that were
applied since then are multiplied when it is read, in the same order as in memory, so the bits are
the same. Files are read and written as a whole: mapped into memory they would count as used memory.
"""

from __future__ import annotations

import math
import shutil
import tempfile
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from phinmf._types import AnyArray, Array, Precision
from phinmf.arrays import lazy, room_for_frames
from phinmf.engines.compiled.shard import Shard
from phinmf.errors import InvalidValue

#: Arrays as large as the frames that a fit in memory may come to hold: in double precision Y, X
#: and a trial point, and while these are at rest Y, X and a trial point in single precision.
ARRAYS_IN_MEMORY = 4.5

Out = TypeVar("Out")

#: Arrays as large as a shard that are in memory at the same time: X, the memory to multiply it in,
#: what is read ahead for the next shard, and chunks that this is read from.
ARRAYS_ON_DISK = 5

ASSUMED_MEMORY = 2**33  #: bytes, where the system does not say how much is free
LEAST_MEMORY = 2**26  #: bytes that are always used


class FramesOnDisk:
    """Shards in turn, of a dask array (C, M, N) or of its products with atoms (P, M).

    The methods are those of `FramesInMemory`.
    """

    trial: Array | None = None  #: is not held

    def __init__(
        self, shards: Sequence[Shard], source: AnyArray, dtype: Precision, atoms: Array | None
    ) -> None:
        self.shards, self.source, self.dtype, self.atoms = shards, source, dtype, atoms
        folder = lazy.dask().config.get("temporary-directory", None)
        if folder is not None:
            Path(folder).mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="phinmf-", dir=folder))
        self._remove = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        #: of each shard X as of some time, if there is a file; otherwise that is Y
        self.files = [self.folder / str(i) for i in range(len(shards))]
        #: of each shard the matrices that X was multiplied by since, the first one first
        self.pending: list[list[Array]] = [[] for _ in shards]

    def each(self, method: Callable[..., Out], rows: Sequence[Any], *arguments: Any) -> list[Out]:
        """Return what a method of every shard returns for its X, its rows and other arguments.

        The next shard is read while one is computed with.
        """
        results: list[Out] = []
        with ThreadPoolExecutor(1) as reader:
            ahead = deque([reader.submit(self._read, 0)])
            for i, shard in enumerate(self.shards):
                if i + 1 < len(self.shards):
                    ahead.append(reader.submit(self._read, i + 1))
                X = self._brought_up_to_date(i, ahead.popleft().result())
                own = [array[shard.frames] for array in rows]
                results.append(method(shard, X, *own, *arguments))
                del X
        return results

    def powers(self) -> list[Array]:
        """Return the mean power of each frame of every shard."""
        return [shard.powers(self._read_Y(shard)) for shard in self.shards]

    def rest(self) -> None:
        """X ← Y, and remove the files."""
        for file, matrices in zip(self.files, self.pending, strict=True):
            file.unlink(missing_ok=True)
            matrices.clear()

    def rotate(self, Phi: Array) -> None:
        """X ← ΦY, when it is read next."""
        self.rest()
        self.move(Phi)

    def move(self, T: Array) -> None:
        """X ← TX, when it is read next."""
        for matrices in self.pending:
            matrices.append(T)

    def trial_memory(self) -> None:
        """Return None: there is no memory for a trial point."""

    def close(self) -> None:
        """Remove all files."""
        self._remove()

    def _read_Y(self, shard: Shard) -> Array:
        """Return the frames of a shard, or their products with the atoms."""
        Y = read_frames(self.source, shard.frames, self.dtype)
        return Y if self.atoms is None else shard.rotated(Y, self.atoms)

    def _read(self, i: int) -> Array:
        """Return X of shard i as it is stored, or the frames of the source."""
        frames = self.shards[i].frames
        if not self.files[i].exists():
            return read_frames(self.source, frames, self.dtype)
        C, M, _ = self.source.shape
        P = M if self.atoms is None else len(self.atoms)
        X = room_for_frames((C, frames.stop - frames.start, P), self.dtype)
        with self.files[i].open("rb") as file:
            for channel in X:
                file.readinto(channel.data)
        return X

    def _brought_up_to_date(self, i: int, X: Array) -> Array:
        """Return X of shard i from what was read, and store it if it has changed."""
        shard, path = self.shards[i], self.files[i]
        if self.atoms is not None and not path.exists():
            X = shard.rotated(X, self.atoms)
        if self.pending[i]:
            spare = room_for_frames(X.shape, X.dtype)
            for T in self.pending[i]:
                X, spare = shard.rotated(X, T, spare), X
            new = path.with_suffix(".new")
            with new.open("wb") as file:
                for channel in X:
                    file.write(channel.data)
            new.replace(path)  # an interrupt before leaves X and what is pending
            self.pending[i].clear()
        return X


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
        raise InvalidValue(f"phinmf.memory is {setting!r}, but some memory is needed, such as 2GB")
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
