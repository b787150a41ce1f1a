"""Shards that take turns in memory: Y is read from its source, X is kept in scratch files.

Files are read and written as a whole, not mapped into memory, where they would count as used. A
trial point is not kept. Calls that change X are noted, and made when X is next needed in memory.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from phinmf._types import Array, Precision
from phinmf.arrays import room_for_frames
from phinmf.arrays.threads import Workers
from phinmf.engines.compiled.compiled_shard import CompiledShard
from phinmf.engines.compiled.scratch import Scratch
from phinmf.engines.compiled.shards import Call, Shards
from phinmf.engines.compiled.stretch import Stretch
from phinmf.engines.remote.journal import Journal

#: Arrays as large as a shard that are in memory at the same time: X, a trial point, and what is
#: read ahead for the next shard, from chunks.
ARRAYS = 5


@dataclass
class StoredShard:
    """A shard whose frames are in memory only during a call that needs them."""

    shard: CompiledShard  #: holds no frames between calls
    shape: tuple[int, int, int]  #: (C, n, M): of its frames
    frames: slice  #: of all frames
    load: Callable[[], Array]  #: reads Y from its source
    path: Path  #: of the file for X
    stored: bool = False  #: whether the file holds X as it was before the calls in `late`
    late: Journal = field(default_factory=Journal)  #: calls that change X and were not made yet

    def defer(self, call: Call) -> None:
        """Note a call that changes X."""
        self.late.note(call)
        if "X" not in self.late.calls[0].access.reads:  # it begins with Y
            self.stored = False
            self.path.unlink(missing_ok=True)

    def fetch(self, call: Call) -> Array | None:
        """Read the frames that a call needs: Y, or X from the file; None if it needs none."""
        if "X" in call.access.reads and self.stored:
            X = room_for_frames(self.shape, self.shard.dtype)
            with self.path.open("rb") as file:
                for channel in X:
                    file.readinto(channel.data)
            return X
        return self.load() if call.access.reads & {"X", "Y"} else None

    def answer(self, call: Call, fetched: Array | None) -> Any:
        """Make a call with the frames that were fetched for it, and release them."""
        if fetched is not None:
            self.shard.hold(fetched, overwrite=True)
        if "X" in call.access.reads:
            self._catch_up()
        answer = getattr(self.shard, call.name)(*call.arguments(self.frames))
        self.shard.hold(no_frames(self.shape, self.shard.dtype))
        return answer

    def _catch_up(self) -> None:
        """Make the calls that change X, and store X."""
        if self.late.calls:
            for call in self.late.calls:
                getattr(self.shard, call.name)(*call.arguments(self.frames))
            with self.path.open("wb") as file:
                for channel in self.shard.X:
                    file.write(channel.data)
            self.stored = True
            self.late.clear()


class DiskShards(Shards):
    """Shards in turn, the next one being read while one computes."""

    def __init__(
        self,
        load: Callable[[slice], Array],
        size: tuple[int, int],
        dtype: Precision,
        stretches: list[Stretch],
        n_blocks: int,
        workers: Workers,
        folder: str | None,
    ) -> None:
        """Hold frames of `size` channels and samples, read by `load`, below a folder."""
        super().__init__(n_blocks)
        if folder is not None:
            Path(folder).mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="phinmf-", dir=folder))
        self._remove = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        scratch = Scratch(dtype)  # one for all, as they take turns
        self.shards = []
        for i, stretch in enumerate(stretches):
            frames = stretch.frames
            shape = (size[0], frames.stop - frames.start, size[1])
            shard = CompiledShard(no_frames(shape, dtype), stretch, workers, scratch)
            path = self.folder / f"{i}"
            self.shards.append(
                StoredShard(shard, shape, frames, partial(held, stretch, load), path)
            )

    def answers(self, call: Call) -> Iterator[Any]:
        if "X" in call.access.changes:
            for shard in self.shards:
                shard.defer(call)
                yield None
            return
        with ThreadPoolExecutor(1) as reader:
            ahead = reader.submit(self.shards[0].fetch, call)
            for i, shard in enumerate(self.shards):
                fetched = ahead.result()
                if i + 1 < len(self.shards):
                    ahead = reader.submit(self.shards[i + 1].fetch, call)
                answer = shard.answer(call, fetched)
                del fetched
                yield answer

    def close(self) -> None:
        self._remove()


def held(stretch: Stretch, load: Callable[[slice], Array]) -> Array:
    """Read what is held of the frames of a shard."""
    return stretch.held(load(stretch.frames))


def no_frames(shape: tuple[int, int, int], dtype: Precision) -> Array:
    """Return an array (C, 0, M) in place of frames (C, n, M)."""
    return np.zeros((shape[0], 0, shape[2]), dtype)
