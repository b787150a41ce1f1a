"""Checkpoints: the complete state of a run between two outer iterations, in a file.

* A run that is resumed has the same frames, options and start, which a description in the file
  says; so the start itself is computed again, and not in the file. Arrays are described as the
  caller passed them: what is computed from them may differ in the last bit on another machine.
* Everything that is read is compared with a table, the memory of the solver by the solver.
"""

from __future__ import annotations

import copy
import hashlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from phinmf import arrays, checks, storage
from phinmf._types import AnyArray, Array, RandomState
from phinmf.algorithm.alternate import Save
from phinmf.algorithm.model import Iterate, Sample
from phinmf.algorithm.options import Method, Options
from phinmf.algorithm.run import Run, Snapshot
from phinmf.algorithm.schedule import Stage
from phinmf.arrays.levels import each
from phinmf.divergences import Divergence
from phinmf.engines.compiled.summation import blocks_of
from phinmf.entries import Entry, checked, packed, prefixed, without_prefix
from phinmf.errors import InvalidType, InvalidValue
from phinmf.fit.data import Data
from phinmf.fit.initial_factors import InitialFactors
from phinmf.result import History
from phinmf.result.terms import divergence_label

File = str | os.PathLike[str]
Description = Mapping[str, str]  #: what a checkpoint must agree with: values as texts

#: Options that may change when a run is resumed; the fields of `method` are compared one by one.
NOT_COMPARED = ("max_iter", "max_time", "tol", "engine", "device", "n_threads", "method")
PLAIN = (bool, int, float, str, type(None))  #: what a text can hold

KIND = "checkpoint"
MEMORY = "memory_"  #: prefix of the arrays of a solver
TABLE = {
    "Phi": Entry("P P", rule="orthogonal"),  # in the precision of the stage
    "W": Entry("R K", rule="nonnegative"),  # a row for each atom, or for each pair
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
        The file. With several restarts each has its own, ``….0``, ``….1`` and so on.
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
            raise InvalidType(f"checkpoint is {self.path!r}, but the path of a file is needed")
        if not isinstance(self.resume, bool):
            raise InvalidType(f"resume is {self.resume!r}, but True or False is needed")
        object.__setattr__(self, "every", checks.number("every", self.every, 0))

    @classmethod
    def of(cls, checkpoint: File | Checkpoint) -> Checkpoint:
        """Return the checkpoint of a path, or one unchanged."""
        return checkpoint if isinstance(checkpoint, Checkpoint) else cls(checkpoint)

    def of_restart(self, number: int, n: int) -> Checkpoint:
        """Return the checkpoint of one of n restarts: each has its own file."""
        if n == 1:
            return self
        return replace(self, path=f"{os.fspath(self.path)}.{number}")

    def attach(self, run: Run, description: Description) -> Save:
        """Let a run continue from the file if it shall; return what writes others."""
        if self.resume and Path(self.path).exists():
            snapshot = read(self.path, description, run)
            if (n := len(snapshot.history)) > run.options.max_iter:
                raise InvalidValue(
                    f"max_iter is {run.options.max_iter}, but {self.path} has made {n} outer"
                    f" iterations already: resume with max_iter of at least {n}"
                )
            run.resume(snapshot)
        storage.check_place(self.path, KIND)
        written = time.perf_counter()

        def save(run: Run) -> None:
            nonlocal written
            if time.perf_counter() - written >= self.every:
                write(self.path, run.snapshot(), description)
                written = time.perf_counter()

        return save


def write(path: File, snapshot: Snapshot, description: Description) -> None:
    """Write a checkpoint."""
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
    solver = {n: arrays.to_numpy(value) for n, value in memory.items() if value is not None}
    header = {"problem": dict(description), "history": history.to_json()}
    parts = packed(values, TABLE) | prefixed(MEMORY, solver)
    storage.write(path, KIND, header, parts)


def read(path: File, description: Description, run: Run) -> Snapshot:
    """Read a checkpoint of the same problem as that of a run, which is at its start."""
    header, parts = storage.read(path, KIND)
    with storage.usable(path, KIND):
        problem, history = dict(header["problem"]), History.from_json(header["history"])
    for name, value in description.items():
        if (before := problem.get(name)) != value:
            raise InvalidValue(
                f"{path} belongs to another run, whose {name} is {storage.shortened(str(before))},"
                f" here it is {value}; resume with the same frames and options"
            )
    with storage.usable(path, KIND):
        return snapshot_of(history, parts, run)


def snapshot_of(history: History, parts: Mapping[str, Any], run: Run) -> Snapshot:
    """Return the snapshot of a run; its arrays are where those of the start are."""
    Phi, W, M, N = run.start.Phi, run.start.W, run.shape[1], run.shape[2]
    values = checked(parts, TABLE, M=M, K=W.shape[1], N=N)
    n_atoms, n_frames = values["n_atoms"], values["n_frames"]
    P, solver = n_atoms or M, run.options.solver
    memory: dict[str, Any] = {}
    if solver is not None:
        memory = checked(without_prefix(MEMORY, parts), solver.memory_table, D=P * (P - 1) // 2)
    sample, n_used = None, N
    if n_frames is not None:
        sample = Sample(values["sample_frames"], values["sample_weights"])
        n_used = len(sample.weights)
    sizes = len(values["Phi"]), values["H"].shape[1], len(values["Phi"]) / len(values["W"])
    if not run.schedule.allows(n_atoms) or sizes != (P, n_used, M / len(W)):
        raise InvalidValue("its atoms or its frames are not those of a stage of this run")
    stage = Stage(values["Phi"].dtype, n_frames, n_atoms)
    for name, value in memory.items():
        if isinstance(value, np.ndarray):
            memory[name] = arrays.like(value, Phi)
    iterate = Iterate(*(arrays.like(values[name], Phi) for name in ("Phi", "W", "H")))
    basis = None if n_atoms is None else arrays.like(values["basis"], Phi)
    return Snapshot(history, iterate, memory, stage, sample, basis)


# what must be the same when a run is resumed


def description(
    options: Options, data: Data, initial: InitialFactors, random_state: str
) -> Description:
    """Return the frames, the options and the start as texts."""
    columns = initial.fixed.columns
    values = vars(options) | vars(options.method) | {
        "sparsity": options.penalty.sparsity,
        "anneal": options.anneal,
        "nmf_exponent": options.nmf_exponent,
    }  # fmt: skip
    names = [field.name for field in (*fields(Options), *fields(Method))]
    compared = {name: values[name] for name in names if name not in NOT_COMPARED} | {
        "n_components": initial.shape[2],
        "W": initial.W if initial.W.shape[1] else None,
        "H": initial.H_original,
        "fixed W": None if columns is None else arrays.to_numpy(columns),
        "fixed H": initial.fixed.H is not None,
    }
    texts = {name: text_of(name, value) for name, value in compared.items()}
    return texts | {
        "frames": digest_of_frames(data.frames, data.frame_weights),
        "random_state": random_state,
    }


def seed_of(random_state: RandomState) -> str:
    """Return a text that identifies a seed, or the state of a generator before it draws."""
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return str(random_state)
    drawn = checks.generator(copy.deepcopy(random_state)).integers(2**63, size=4)
    return f"{type(random_state).__name__} {digest(drawn.astype(np.float64))}"


def text_of(name: str, value: Any) -> str:
    """Return a text that identifies a value in every process.

    Arrays are identified by a digest, objects by their class and their attributes.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, PLAIN):
        return repr(value)
    if isinstance(value, np.ndarray) or arrays.is_tensor(value):
        return f"array {digest(value)}"
    if isinstance(value, Divergence):
        return divergence_label(value)
    if callable(value) or not hasattr(value, "__dict__"):
        raise InvalidValue(
            f"{name} has an attribute that is no number, text or array, so that a checkpoint cannot"
            " compare it: leave checkpoint out, or change the class"
        )
    texts = (f"{key}={text_of(name, attribute)}" for key, attribute in vars(value).items())
    return f"{type(value).__qualname__}({', '.join(texts)})"


def digest(array: Array) -> str:
    """Return a short text that identifies the contents of an array, on any device."""
    array = arrays.to_numpy(array)
    text = hashlib.blake2b(f"{array.shape} {array.dtype}".encode(), digest_size=12)
    text.update(np.ascontiguousarray(array.T).data)
    return text.hexdigest()


def digest_of_frames(Y: AnyArray, weights: Array | None) -> str:
    """Return the same for frames (C, M, N), block by block: of any chunks, here or on a cluster."""
    digests = each(digest, Y, blocks_of(Y.shape[2]))
    if weights is not None:
        digests.append(digest(weights))
    return f"array {hashlib.blake2b(''.join(digests).encode(), digest_size=12).hexdigest()}"
