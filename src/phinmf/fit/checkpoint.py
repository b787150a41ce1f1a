"""Checkpoints: the complete state of a run between two outer iterations, in a file.

* A run that is resumed has the same frames, options and start, which a description in the file
  says; so the start itself is computed again, and not in the file.
* The file before is kept as ``….previous``, and is read if the newest one is damaged or missing.
* Everything that is read is compared with a table, the memory of the solver by the solver.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phinmf import arrays, checks, storage
from phinmf.algorithm.annealing import Schedule
from phinmf.algorithm.model import Iterate, Sample
from phinmf.algorithm.restart import CheckpointWriter, Position, Restart, Snapshot, Stage
from phinmf.algorithm.run import Run
from phinmf.entries import (
    NONNEGATIVE,
    ORTHOGONAL,
    POSITIVE,
    Entry,
    checked,
    count,
    index,
    packed,
    prefixed,
    without_prefix,
)
from phinmf.result import History

log = logging.getLogger("phinmf")

File = str | os.PathLike[str]
Description = Mapping[str, Any]  #: what a checkpoint must agree with, as JSON holds it

KIND = "checkpoint"
MEMORY = "memory_"  #: prefix of the arrays of a solver
TABLE = {
    "Phi": Entry("P P", rule=ORTHOGONAL),  # in the precision of the stage
    "W": Entry("P K", rule=NONNEGATIVE),
    "H": Entry("K n", rule=NONNEGATIVE),
    "n_atoms": Entry("", "int64", count("M"), group="atoms"),  # P, if it is less than M
    "basis": Entry("M M", "float64", ORTHOGONAL, group="atoms"),
    "n_frames": Entry("", "int64", POSITIVE, group="sample"),  # of a sample, with repetitions
    "sample_frames": Entry("n", "int64", index("N"), group="sample"),
    "sample_weights": Entry("n", "float64", POSITIVE, group="sample"),
}


@dataclass(frozen=True)
class Files:
    """Where a restart keeps checkpoints, and where it continues from."""

    checkpoint: File | None = None
    every: float = 10.0  #: seconds
    resume: File | bool = False

    def __post_init__(self) -> None:
        every = checks.number("checkpoint_every", self.every, 0)
        object.__setattr__(self, "every", every)
        if not isinstance(self.resume, (bool, str, os.PathLike)):
            raise TypeError(
                f"resume is {self.resume!r}, but True, False or the path of a file is needed"
            )
        if self.resume is True and self.checkpoint is None:
            raise ValueError("resume is True but no checkpoint is named: pass the path of one")

    @property
    def used(self) -> bool:
        """Whether there is anything to write or to read."""
        return self.checkpoint is not None or self.resume is not False

    def of_restart(self, number: int, n: int) -> Files:
        """The files of one of n restarts: each has its own."""
        if n == 1 or not self.used:
            return self
        checkpoint, resume = self.checkpoint, self.resume
        if checkpoint is not None:
            checkpoint = f"{checkpoint}.{number}"
        if not isinstance(resume, bool):
            resume = f"{resume}.{number}"
        return Files(checkpoint, self.every, resume)

    def attach(
        self,
        restart: Restart,
        description: Description,
        run: Run,
        schedule: Schedule,
    ) -> Restart:
        """Let a restart write checkpoints, and find where it continues instead of at its start."""
        if self.checkpoint is not None:
            storage.check_place(self.checkpoint, KIND, keep_previous=True)
            writer = FileWriter(self.checkpoint, self.every, description)
            restart = dataclasses.replace(restart, checkpoint=writer)
        source = self.source
        if source is None:
            return restart
        resumed = read(source, description, restart.start, run, schedule)
        check_length(source, resumed, run.options.max_iter)
        return dataclasses.replace(restart, resumed=resumed)

    @property
    def source(self) -> File | None:
        """The file to continue from, if there is one."""
        if not isinstance(self.resume, bool):
            return self.resume
        path = self.checkpoint
        if not self.resume or path is None:
            return None
        return path if Path(path).exists() or storage.previous(path).exists() else None


class FileWriter(CheckpointWriter):
    """Writes a checkpoint when `every` seconds have passed since the last one."""

    def __init__(self, path: File, every: float, description: Description) -> None:
        self.path = path
        self.every = every
        self.description = description
        self.last = time.perf_counter()

    def due(self) -> bool:
        """Whether `every` seconds have passed."""
        return time.perf_counter() - self.last >= self.every

    def write(self, snapshot: Snapshot) -> None:
        """Write a checkpoint."""
        write(self.path, snapshot, self.description)
        self.last = time.perf_counter()


def write(path: File, snapshot: Snapshot, description: Description) -> None:
    """Write a checkpoint; the previous one is kept beside it."""
    last, memory, sample, stage, basis = snapshot.position
    values = {
        "Phi": last.Phi,
        "W": last.W,
        "H": last.H,
        "n_atoms": stage.n_atoms,
        "basis": basis,
        "n_frames": stage.n_frames,
        "sample_frames": None if sample is None else sample.frames,
        "sample_weights": None if sample is None else sample.weights,
    }
    solver = {name: arrays.to_numpy(array) for name, array in memory.items()}
    header = {"problem": dict(description), "history": snapshot.history.to_json()}
    parts = packed(values, TABLE) | prefixed(MEMORY, solver)
    storage.write(path, KIND, header, parts, keep_previous=True)


def read(
    path: File, description: Description, start: Iterate, run: Run, schedule: Schedule
) -> Snapshot:
    """Read a checkpoint of the same problem; its arrays are where those of the start are."""
    header, parts = newest(path)
    with storage.usable(path, KIND):
        problem, history = dict(header["problem"]), History.from_json(header["history"])
    for name, value in description.items():
        if (before := problem.get(name)) != value:
            raise ValueError(
                f"{path} belongs to {difference(name, before, value)}; resume with the same frames"
                " and options"
            )
    with storage.usable(path, KIND):
        return Snapshot(history, position_of(parts, start, run, schedule))


def position_of(parts: Mapping[str, Any], start: Iterate, run: Run, schedule: Schedule) -> Position:
    """Return the position of a run from the arrays of a file."""
    (M, K), N = start.W.shape, start.H.shape[1]
    values = checked(parts, TABLE, M=M, K=K, N=N)
    memory, n_atoms, n_frames = without_prefix(MEMORY, parts), values["n_atoms"], values["n_frames"]
    if not run.fits(memory, n_atoms or M):
        raise ValueError("its memory is not one of this solver")
    sizes = len(values["Phi"]), values["H"].shape[1]
    sample, n = None, N
    if n_frames is not None:
        sample = Sample(values["sample_frames"], values["sample_weights"])
        n = len(sample.weights)
    if not schedule.allows(n_atoms) or sizes != (n_atoms or M, n):
        raise ValueError("its atoms or its frames are not those of a stage of this run")

    def on_device(array: Any) -> Any:
        return None if array is None else arrays.like(array, start.Phi)

    Phi, W, H, basis = (on_device(values[name]) for name in ("Phi", "W", "H", "basis"))
    memory = {name: on_device(array) for name, array in memory.items()}
    stage = Stage(n_frames, arrays.dtype_of(Phi), n_atoms)
    return Position(Iterate(Phi, W, H), memory, sample, stage, basis)


def newest(path: File) -> storage.Stored:
    """Read the file of a checkpoint; if it is damaged or missing, the previous one."""
    try:
        return storage.read(path, KIND)
    except (ValueError, FileNotFoundError) as error:
        if not storage.previous(path).exists():
            raise
        log.warning("%s: using the previous checkpoint", error)
        return storage.read(storage.previous(path), KIND)


def difference(name: str, before: Any, now: Any) -> str:
    """Say how a run differs from that of a checkpoint; digests of arrays are not shown."""
    digests = [str(value).startswith("array ") for value in (before, now)]
    if all(digests):
        return f"a run with another array of {name}"
    was, has = (
        "an array" if is_digest else storage.shown(value)
        for value, is_digest in zip((before, now), digests, strict=True)
    )
    return f"another run, whose {name} is {was}, here it is {has}"


def check_length(path: File, snapshot: Snapshot, max_iter: int) -> None:
    """Raise if a run is resumed that has made more iterations than it may make."""
    if (n := len(snapshot.history)) > max_iter:
        raise ValueError(
            f"max_iter is {max_iter}, but {path} has made {n} outer iterations already: resume with"
            f" max_iter of at least {n}"
        )
