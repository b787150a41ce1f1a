"""Checkpoints of a pass over a stream.

To resume, the stream is given again from its beginning. What was seen is skipped; a digest of it
shows whether it is the same stream.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from phinmf import storage
from phinmf._types import Array
from phinmf.fit.blocks import Blocks
from phinmf.fit.checkpoint import Description, Files, check_place, read_same
from phinmf.fit.digest import digest
from phinmf.fit.online import OnlineFit, Progress
from phinmf.fit.stored_stream import pack, unpack
from phinmf.result import History
from phinmf.stored_values import is_number


@dataclass(frozen=True)
class Position:
    """Where a pass is between two blocks."""

    at: Progress = Progress()  # noqa: RUF009 - frozen
    history: History = field(default_factory=lambda: History(0.0))  #: up to here
    n_seen: int = 0  #: number of frames of the stream, silent ones too
    digest: str = ""  #: of these frames

    def after(self, at: Progress, history: History, Y: Array) -> Position:
        """The position after another block."""
        text = hashlib.blake2b(f"{self.digest} {digest(Y)}".encode(), digest_size=12)
        return Position(at, history.copied(), self.n_seen + Y.shape[2], text.hexdigest())


class Resumed(NamedTuple):
    """A pass that continues."""

    fit: OnlineFit  #: with the seed that was drawn, if none was given
    position: Position


class StreamFile:
    """Where a pass keeps checkpoints, and what it continues from."""

    def __init__(self, files: Files, known: Description) -> None:
        self.files, self.known = files, known
        self.last = time.perf_counter()
        if files.checkpoint is not None:
            check_place(files.checkpoint)

    def keep(self, position: Position, seed: int, now: bool = False) -> None:
        """Write a checkpoint if one is due, or `now`."""
        path = self.files.checkpoint
        if path is None or not (now or time.perf_counter() - self.last >= self.files.every):
            return
        header, parts = pack(position.at)
        header |= {
            "problem": dict(self.known),
            "seed": seed,
            "history": position.history.to_json(),
            "n_seen": position.n_seen,
            "digest": position.digest,
        }
        storage.write(path, "checkpoint", header, parts, keep_previous=True)
        self.last = time.perf_counter()

    def resumed(self, fit: OnlineFit, blocks: Blocks) -> Resumed | None:
        """Read the checkpoint to continue from, if there is one, and skip what it has seen."""
        path = self.files.source
        if path is None:
            return None
        stored = read_same(path, self.known)
        said = stored.header
        try:
            at = unpack(stored, fit, blocks.example)
            history = History.from_json(said.get("history"))
            n_seen = said.get("n_seen")
            if not (is_number(n_seen, at.n_frames) and isinstance(n_seen, int)):
                raise ValueError(f"it has seen {storage.shown(n_seen)} frames")
            fit = replace(fit, seed=int(said["seed"]))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            why = storage.shortened(str(error))
            raise ValueError(f"{path} is not a usable checkpoint: {why}") from error
        position = Position(at, history)
        while position.n_seen < n_seen and (Y := blocks.take(fit.block_size)) is not None:
            position = position.after(at, history, Y)
        if position.n_seen < n_seen:
            raise ValueError(
                f"{path} has seen {n_seen} frames, but the stream has only {position.n_seen}: give"
                " the same stream again, from its beginning"
            )
        if (position.n_seen, position.digest) != (n_seen, said.get("digest")):
            raise ValueError(
                f"{path} belongs to another stream: its first {n_seen} frames are not those of this"
                " one; give the same stream again, from its beginning"
            )
        return Resumed(fit, position)
