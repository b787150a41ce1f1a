"""The contract of a group: restarts that Algorithm 1 computes at the same time.

`alternate` runs over a group. A group of one restart (`single.py`) works on any engine; on tensors
several restarts are one batch (`phinmf.tensors.group`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from phinmf._types import Array, Precision
from phinmf.algorithm.annealing import Phase
from phinmf.algorithm.model import Iterate, Sample
from phinmf.engines.base import OutOfTime
from phinmf.result import History, State

Callback = Callable[[State], Any]


class Stage(NamedTuple):
    """What an outer iteration uses: how many frames and atoms (None: all), and its precision."""

    n_frames: int | None
    dtype: Precision
    n_atoms: int | None = None


def stage_of(phase: Phase, dtype: Precision) -> Stage:
    """Return the stage of a phase, for data of this precision."""
    used = np.dtype(np.float32) if phase.single else dtype
    return Stage(phase.n_frames, used, phase.n_atoms)


class Position(NamedTuple):
    """The iterate of a restart between two outer iterations, and what the next one needs."""

    last: Iterate
    memory: Mapping[str, Array]  #: of the solver
    sample: Sample | None  #: the frames in use; None: all
    stage: Stage
    basis: Array | None = None  #: of the subspace, if only some atoms are learned


@dataclass(frozen=True)
class Snapshot:
    """The complete state of a restart between two outer iterations, as a checkpoint holds it."""

    start: Iterate
    history: History
    position: Position


class Keeper(ABC):
    """Writes snapshots of one restart to a file."""

    @abstractmethod
    def due(self) -> bool:
        """Whether it is time for another one."""

    @abstractmethod
    def write(self, snapshot: Snapshot) -> None:
        """Write a snapshot."""


@dataclass(frozen=True)
class Restart:
    """The input of one restart."""

    start: Iterate  #: the result is never worse than this
    rng: np.random.Generator  #: draws the sample of frames
    callback: Callback | None = None
    keep: Keeper | None = None  #: writes checkpoints
    resumed: Snapshot | None = None  #: where it continues; None: at the start


class Measured(NamedTuple):
    """Measurements of one restart after an outer iteration."""

    divergence: float
    penalty: float
    target_objective: float  #: the objective at the target floor
    gradient: float  #: Frobenius norm of skew(G); NaN if Φ is not learned
    steps: tuple[float, ...]
    search_failed: bool
    evaluations: int  #: made in this outer iteration
    frames: int  #: in use
    atoms: int  #: that are learned


class Final(NamedTuple):
    """A restart on all frames at the target floor, and its costs there."""

    at: Iterate
    divergence: float
    penalty: float

    @property
    def objective(self) -> float:
        """C of (2)."""
        return self.divergence + self.penalty


class Group(ABC):
    """Restarts that share options, schedule and frames; each has its own iterate and history.

    A restart is identified by its number in the group.
    """

    shape: tuple[int, int, int]  #: of all frames: channels, window length, number
    dtype: Precision  #: of the data
    total_weight: float  #: of all frames
    running: list[int]  #: the restarts that have not ended
    full_gradient: float | None = None  #: scale of the gradient if nothing but Φ is learned

    @abstractmethod
    def begin(self, restarts: Sequence[Restart]) -> list[float]:
        """Go to the start of every restart, or to its checkpoint.

        Return the objective of each start at the target floor.
        """

    @abstractmethod
    def open(self, phase: Phase) -> None:
        """Take the frames, the precision and the floor of an outer iteration."""

    @abstractmethod
    def forget(self) -> None:
        """Let the solver forget what it knows of the objective, which has changed abruptly."""

    @abstractmethod
    def nmf(self, n_iter: int, out_of_time: OutOfTime) -> None:
        """Update W and H by step ⋆; at least once, then while there is time."""

    @abstractmethod
    def descend(self, n_iter: int, out_of_time: OutOfTime) -> None:
        """Update Φ by at most `n_iter` steps of the solver, with V̂ = WH fixed."""

    @abstractmethod
    def refresh(self) -> None:
        """Make Φ orthogonal again and compute X = ΦY, so that rounding does not build up."""

    @abstractmethod
    def measure(self) -> list[Measured]:
        """Measure every running restart, in the order of `running`."""

    @abstractmethod
    def iterate(self, number: int) -> Iterate:
        """Return a complete iterate of a running restart, also after an interrupt."""

    @abstractmethod
    def position(self, number: int) -> Position:
        """Where a running restart is, while X = ΦY: after `refresh`, or without a solver."""

    @abstractmethod
    def fits(self, memory: Mapping[str, Array], n_atoms: int) -> bool:
        """Whether arrays of NumPy, read from a file, can be the memory of so many atoms."""

    @abstractmethod
    def drop(self, ended: Sequence[int]) -> None:
        """Remove restarts that have ended."""

    @abstractmethod
    def close(self) -> None:
        """Free the frames that are in use."""

    @abstractmethod
    def finish(self, iterates: Sequence[Iterate], n_iter_nmf: int) -> list[Final]:
        """Evaluate iterates on all frames at the target floor, after some NMF steps there."""
