"""Checkpoints: the complete state of a run between two outer iterations, in a file.

* A run that is resumed has the same frames, options and start, which a description in the file
  says; so the start itself is computed again, and not in the file.
* The file before is kept as ``….previous``, and is read if the newest one is damaged or missing.
* Everything that is read is compared with a table, the memory of the solver by the solver.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from phinmf import arrays, checks, storage
from phinmf.algorithm.alternate import Save
from phinmf.algorithm.model import Iterate, Sample
from phinmf.algorithm.run import Run, Snapshot
from phinmf.algorithm.schedule import Stage
from phinmf.entries import Entry, checked, packed, prefixed, without_prefix
from phinmf.result import History
from phinmf.storage import previous

log = logging.getLogger("phinmf")

File = str | os.PathLike[str]
Description = Mapping[str, Any]  #: what a checkpoint must agree with, as JSON holds it

KIND = "checkpoint"
MEMORY = "memory_"  #: prefix of the arrays of a solver
TABLE = {
    "Phi": Entry("P P", rule="orthogonal"),  # in the precision of the stage
    "W": Entry("P K", rule="nonnegative"),
    "H": Entry("K n", rule="nonnegative"),
    "n_atoms": Entry("", "int64", "from 1 to M", group="atoms"),  # P, if it is less than M
    "basis": Entry("M M", "float64", "orthogonal", group="atoms"),
    "n_frames": Entry("", "int64", "positive", group="sample"),  # of a sample, with repetitions
    "sample_frames": Entry("n", "int64", "an index below N", group="sample"),
    "sample_weights": Entry("n", "float64", "positive", group="sample"),
}


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
        if self.resume and any(file.exists() for file in (Path(self.path), previous(self.path))):
            snapshot = read(self.path, description, run)
            if (n := len(snapshot.history)) > run.options.max_iter:
                raise ValueError(
                    f"max_iter is {run.options.max_iter}, but {self.path} has made {n} outer"
                    f" iterations already: resume with max_iter of at least {n}"
                )
            run.resume(snapshot)
        storage.check_place(self.path, KIND, keep_previous=True)
        written = time.perf_counter()

        def save(run: Run) -> None:
            nonlocal written
            if time.perf_counter() - written >= self.every:
                write(self.path, run.snapshot(), description)
                written = time.perf_counter()

        return save


def write(path: File, snapshot: Snapshot, description: Description) -> None:
    """Write a checkpoint; the previous one is kept beside it."""
    history, iterate, memory, stage, sample, basis = snapshot
    values = {
        "Phi": iterate.Phi,
        "W": iterate.W,
        "H": iterate.H,
        "n_atoms": stage.n_atoms,
        "basis": basis,
        "n_frames": stage.n_frames,
        "sample_frames": None if sample is None else sample.frames,
        "sample_weights": None if sample is None else sample.weights,
    }
    solver = {name: arrays.to_numpy(array) for name, array in memory.items()}
    header = {"problem": dict(description), "history": history.to_json()}
    parts = packed(values, TABLE) | prefixed(MEMORY, solver)
    storage.write(path, KIND, header, parts, keep_previous=True)


def read(path: File, description: Description, run: Run) -> Snapshot:
    """Read a checkpoint of the same problem as that of a run, which is at its start."""
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
        return snapshot_of(history, parts, run)


def snapshot_of(history: History, parts: Mapping[str, Any], run: Run) -> Snapshot:
    """Return the snapshot of a run; its arrays are where those of the start are."""
    Phi, (M, K), N = run.start.Phi, run.start.W.shape, run.shape[2]
    values = checked(parts, TABLE, M=M, K=K, N=N)
    memory, n_atoms, n_frames = without_prefix(MEMORY, parts), values["n_atoms"], values["n_frames"]
    if not run.fits(memory, n_atoms or M):
        raise ValueError("its memory is not one of this solver")
    sample, n_used = None, N
    if n_frames is not None:
        sample = Sample(values["sample_frames"], values["sample_weights"])
        n_used = len(sample.weights)
    sizes = len(values["Phi"]), values["H"].shape[1]
    if not run.schedule.allows(n_atoms) or sizes != (n_atoms or M, n_used):
        raise ValueError("its atoms or its frames are not those of a stage of this run")
    stage = Stage(values["Phi"].dtype, n_frames, n_atoms)
    memory = {name: arrays.like(array, Phi) for name, array in memory.items()}
    iterate = Iterate(*(arrays.like(values[name], Phi) for name in ("Phi", "W", "H")))
    basis = None if n_atoms is None else arrays.like(values["basis"], Phi)
    return Snapshot(history, iterate, memory, stage, sample, basis)


def newest(path: File) -> storage.Stored:
    """Read the file of a checkpoint; if it is damaged or missing, the previous one."""
    try:
        return storage.read(path, KIND)
    except (ValueError, FileNotFoundError) as error:
        if not previous(path).exists():
            raise
        log.warning("%s: using the previous checkpoint", error)
        return storage.read(previous(path), KIND)


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
