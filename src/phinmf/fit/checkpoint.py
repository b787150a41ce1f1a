"""Checkpoints: the complete state of a run between two outer iterations, in a file."""

from __future__ import annotations

import dataclasses
import hashlib
import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from phinmf import arrays
from phinmf._types import Array
from phinmf.algorithm.alternate import Progress, Settings, rounding
from phinmf.algorithm.model import Iterate, Model
from phinmf.arrays.levels import each
from phinmf.engines.blocked.summation import blocks_of
from phinmf.fit import storage
from phinmf.fit.stored_run import progress_of
from phinmf.solvers import Solver

log = logging.getLogger("phinmf")


class Keeper:
    """Writes a checkpoint when `every` seconds have passed since the last one."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        every: float,
        solver: Solver | None,
        problem: Mapping[str, Any],
    ) -> None:
        self.path = path
        self.every = every
        self.solver = solver
        self.problem = problem
        self.last = time.perf_counter()

    def __call__(self, at: Progress) -> None:
        """Write a checkpoint if it is due."""
        if time.perf_counter() - self.last >= self.every:
            write(self.path, at, self.solver, self.problem)
            self.last = time.perf_counter()


def attach(
    run: Settings,
    problem: Mapping[str, Any],
    path: str | os.PathLike[str] | None,
    every: float,
    resume: str | os.PathLike[str] | bool,
    start: Iterate,
    model: Model,
) -> tuple[Settings, Progress | None]:
    """Let a run write checkpoints, and return the progress that it resumes from, if any."""
    if path is not None:
        if not storage.named(path).parent.is_dir():
            raise ValueError(f"checkpoint is {path}, but its folder does not exist: make it first")
        refuse_other_files(path)
        storage.writable(path)
        run = dataclasses.replace(run, keep=Keeper(path, every, run.solver, problem))
    if isinstance(resume, bool):
        if resume and path is None:
            raise ValueError("resume is True but no checkpoint is named: pass the path of one")
        source = path if resume and path is not None and found(path) else None
    elif isinstance(resume, (str, os.PathLike)):
        source = resume
    else:
        raise TypeError(f"resume is {resume!r}, but True, False or the path of a file is needed")
    return run, None if source is None else read(source, run, problem, start, model)


def write(
    path: str | os.PathLike[str], at: Progress, solver: Solver | None, problem: Mapping[str, Any]
) -> None:
    """Write a checkpoint; the previous one is kept beside it."""
    parts = {f"start_{k}": v for k, v in vars(at.start).items()}
    parts |= {f"last_{k}": v for k, v in vars(at.last).items()}
    if at.sample is not None:
        parts |= {f"sample_{k}": v for k, v in at.sample._asdict().items()}
    if solver is not None:
        parts |= {f"memory_{k}": v for k, v in solver.pack(at.memory).items()}
    parts = {name: arrays.to_numpy(array) for name, array in parts.items()}
    header = {
        "problem": dict(problem),
        "history": at.history.to_json(),
        "n_frames": at.stage.n_frames if at.stage else None,
    }
    storage.write(path, "checkpoint", header, parts, keep_previous=True)


def read(
    path: str | os.PathLike[str],
    run: Settings,
    problem: Mapping[str, Any],
    start: Iterate,
    model: Model,
) -> Progress:
    """Read a checkpoint of the same problem; if it is damaged, the previous one."""
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
    for name, value in problem.items():
        if saved.get(name) != value:
            raise ValueError(
                f"{path} belongs to another run: its {name} is"
                f" {storage.shown(saved.get(name))}, here it is {value!r}; resume with the same"
                " frames and options"
            )
    try:
        at = progress_of(stored, start, run, float(model.engine.weights.sum()))
        check_start(at, model, run.schedule.target)
        return at
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        why = storage.shortened(str(error))
        raise ValueError(f"{path} is not a usable checkpoint: {why}") from error


def check_start(at: Progress, model: Model, target: float) -> None:
    """Raise unless the objective at the start is that of the history: no result may be worse."""
    said = at.history.start
    with np.errstate(all="ignore"):
        cost = model.cost(model.restore(at.start, target).W, target)
    if not abs(cost - said) <= rounding(said, model.engine.shape, model.engine.dtype):
        raise ValueError(f"its start has objective {cost:.6g}, but its history says {said:.6g}")


def refuse_other_files(path: str | os.PathLike[str]) -> None:
    """Raise if a checkpoint would replace another file; a damaged one has a previous one."""
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


def found(path: str | os.PathLike[str]) -> bool:
    """Whether a checkpoint or its previous one exists."""
    return Path(path).exists() or storage.previous(path).exists()


def digest(*given: Array | None) -> str:
    """A short text that identifies the contents of arrays, on any device."""
    text = hashlib.blake2b(digest_size=12)
    for array in given:
        if array is not None:
            array = arrays.to_numpy(array)
            text.update(f"{array.shape} {array.dtype}".encode())
            text.update(np.ascontiguousarray(array.T).data)
    return text.hexdigest()


def digest_of_frames(Y: Any, weights: Array | None) -> str:
    """The same for frames (C, M, N), block by block: of any chunks, here or on a cluster."""
    text = hashlib.blake2b(digest(weights).encode(), digest_size=12)
    for block in each(digest, Y, blocks_of(Y.shape[2])):
        text.update(block.encode())
    return text.hexdigest()
