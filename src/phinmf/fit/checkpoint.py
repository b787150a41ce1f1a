"""Checkpoints: the complete state of a run between two outer iterations, in a file."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from phinmf import arrays, checks, storage
from phinmf.algorithm.alternate import Save
from phinmf.algorithm.run import Run, Snapshot
from phinmf.algorithm.stopping import rounding
from phinmf.fit.stored_run import snapshot_of
from phinmf.result import Status

log = logging.getLogger("phinmf")

File = str | os.PathLike[str]
DIGEST = re.compile("(array )?[0-9a-f]{24}")  #: identifies an array, and says nothing of it
FACTORS = ("Phi", "W", "H")  #: of an iterate
Description = Mapping[str, Any]  #: what a checkpoint must agree with, as JSON holds it


@dataclass(frozen=True)
class Checkpoint:
    """A file that holds the state of a fit: argument `checkpoint` of `tl_nmf`.

    Parameters
    ----------
    path : path
        The file; the one before it is kept as ``….previous``. With several restarts each has its
        own file, ``….0``, ``….1`` and so on.
    every : float
        Minimum number of seconds between two checkpoints. They are taken after every fifth outer
        iteration, or after any if Φ is not learned.
    resume : bool
        Continue from the file if it exists. It must be of a fit with the same frames, options,
        start and random state: the result has the same bits as without the interruption.

    Examples
    --------
    >>> import phinmf
    >>> phinmf.Checkpoint("fit.npz", resume=True)
    Checkpoint(path='fit.npz', every=10.0, resume=True)
    """

    path: File
    every: float = 10.0
    resume: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.path, (str, os.PathLike)):
            raise TypeError(f"checkpoint is {self.path!r}, but the path of a file is needed")
        if not isinstance(self.resume, bool):
            raise TypeError(f"resume is {self.resume!r}, but True or False is needed")
        object.__setattr__(self, "every", checks.number("every", self.every, 0))

    @classmethod
    def of(cls, checkpoint: File | Checkpoint | None) -> Checkpoint | None:
        """Return the checkpoint of a path, or one unchanged."""
        if checkpoint is None or isinstance(checkpoint, Checkpoint):
            return checkpoint
        return cls(checkpoint)

    def of_restart(self, number: int, n: int) -> Checkpoint:
        """Return the checkpoint of one of n restarts: each has its own file."""
        if n == 1:
            return self
        return replace(self, path=f"{os.fspath(self.path)}.{number}")

    def attach(self, run: Run, description: Description) -> Save:
        """Let a run continue from the file if it shall; return what writes others."""
        if self.resume and exists(self.path):
            snapshot = read(self.path, description, run)
            check_length(self.path, snapshot, run.options.max_iter)
            run.resume(snapshot)
        check_place(self.path)
        return FileWriter(self.path, self.every, description).save


class FileWriter:
    """Writes a checkpoint when `every` seconds have passed since the last one."""

    def __init__(self, path: File, every: float, known: Description) -> None:
        self.path = path
        self.every = every
        self.known = known
        self.last = time.perf_counter()

    def save(self, run: Run) -> None:
        """Write a checkpoint of a run, if `every` seconds have passed."""
        if time.perf_counter() - self.last >= self.every:
            write(self.path, run.snapshot(), self.known)
            self.last = time.perf_counter()


def write(path: File, snapshot: Snapshot, known: Description) -> None:
    """Write a checkpoint; the previous one is kept beside it."""
    start, history, last, memory, stage, sample, basis = snapshot
    moments = {"start": start, "last": last}
    parts = {f"{k}_{name}": getattr(x, name) for k, x in moments.items() for name in FACTORS}
    if sample is not None:
        parts |= {f"sample_{k}": v for k, v in sample._asdict().items()}
    if basis is not None:
        parts["basis"] = basis
    parts |= {f"memory_{k}": v for k, v in memory.items()}
    parts = {name: arrays.to_numpy(array) for name, array in parts.items()}
    header = {
        "problem": dict(known),
        "history": history.to_json(),
        "n_frames": stage.n_frames,
        "n_atoms": stage.n_atoms,
    }
    storage.write(path, "checkpoint", header, parts, keep_previous=True)


def read(path: File, known: Description, run: Run) -> Snapshot:
    """Read a checkpoint of the same problem; if it is damaged, the previous one."""
    stored = read_same(path, known)
    try:
        snapshot = snapshot_of(stored, run)
        check_start(snapshot, run)
        return snapshot
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        why = storage.shortened(str(error))
        raise ValueError(f"{path} is not a usable checkpoint: {why}") from error


def read_same(path: File, known: Description) -> storage.Stored:
    """Read the file of a checkpoint, or the previous one, and compare what it belongs to."""
    try:
        stored = storage.read(path, "checkpoint")
    except (ValueError, FileNotFoundError) as error:
        if not storage.previous(path).exists():
            raise
        log.warning("%s: using the previous checkpoint", error)
        stored = storage.read(storage.previous(path), "checkpoint")
    saved = stored.header.get("problem")
    if not isinstance(saved, dict):
        raise ValueError(
            f"{path} is not a complete checkpoint: it does not say which run it belongs to"
        )
    for name, value in known.items():
        if saved.get(name) != value:
            raise ValueError(
                f"{path} belongs to another run: {difference(name, saved.get(name), value)}; resume"
                " with the same frames and options"
            )
    return stored


def difference(name: str, saved: Any, here: Any) -> str:
    """Say how a run differs from that of a checkpoint; digests of arrays are not shown."""
    arrays_given = [bool(DIGEST.fullmatch(str(value))) for value in (saved, here)]
    if all(arrays_given):
        others = "are others than those" if name.endswith("frames") else "is another than that"
        return f"its {name} {others} given here"
    was, now = (
        "an array" if is_array else storage.shown(value)
        for is_array, value in zip(arrays_given, (saved, here), strict=True)
    )
    return f"its {name} is {was}, here it is {now}"


def check_length(path: File, snapshot: Snapshot, max_iter: int) -> None:
    """Raise if a run is resumed that has made more iterations than it may make."""
    if (n := len(snapshot.history)) > max_iter:
        raise ValueError(
            f"max_iter is {max_iter}, but {path} has made {n} outer iterations already: resume with"
            f" max_iter of at least {n}"
        )


def check_start(snapshot: Snapshot, run: Run) -> None:
    """Raise unless the objective at the start is that of the history: no result may be worse."""
    said = snapshot.history.start
    with np.errstate(all="ignore"):
        cost = run.evaluate(snapshot.start, 0, Status.MAX_ITER).objective
    if not abs(cost - said) <= rounding(said, run.shape, run.dtype):
        raise ValueError(f"its start has objective {cost:.6g}, but its history says {said:.6g}")


def check_place(path: File) -> None:
    """Raise if a checkpoint cannot be written to this path, or must not."""
    if not storage.named(path).parent.is_dir():
        raise ValueError(f"checkpoint is {path}, but its folder does not exist: make it first")
    refuse_other_files(path)
    storage.writable(path)


def refuse_other_files(path: str | os.PathLike[str]) -> None:
    """Raise if a checkpoint would replace a file of another kind.

    A damaged checkpoint is accepted if its `.previous` is valid.
    """
    before = storage.previous(path)
    for place in (before, Path(path)):
        if (
            place.exists()
            and not is_checkpoint(place)
            and (place == before or not is_checkpoint(before))
        ):
            raise ValueError(
                f"checkpoint is {path}, but {place} exists and is not a checkpoint of"
                " phinmf: name another file, or remove this one"
            )


def is_checkpoint(path: Path) -> bool:
    """Whether a file is a checkpoint."""
    try:
        storage.read(path, "checkpoint")
    except (ValueError, FileNotFoundError):
        return False
    return True


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether a checkpoint or its previous one exists."""
    return Path(path).exists() or storage.previous(path).exists()
