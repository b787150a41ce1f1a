"""What one fit begins with, and what a checkpoint of it holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from phinmf._types import Array, Precision
from phinmf.algorithm.annealing import Phase
from phinmf.algorithm.model import Iterate, Sample
from phinmf.result import History, State

Callback = Callable[[State], Any]  #: sees each outer iteration; the fit stops if it returns True


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
    """The iterate of a fit between two outer iterations, and what the next one needs."""

    last: Iterate
    memory: Mapping[str, Array]  #: of the solver
    sample: Sample | None  #: the frames in use; None: all
    stage: Stage
    basis: Array | None = None  #: (M, M), of the subspace, if only some atoms are learned


@dataclass(frozen=True)
class Snapshot:
    """The state of a fit between two outer iterations, as a checkpoint holds it; not its start."""

    history: History
    position: Position


class CheckpointWriter(ABC):
    """Writes snapshots of one fit to a file."""

    @abstractmethod
    def due(self) -> bool:
        """Whether it is time for another one."""

    @abstractmethod
    def write(self, snapshot: Snapshot) -> None:
        """Write a snapshot."""


@dataclass(frozen=True)
class Restart:
    """Where one fit begins, and what it is watched and saved by."""

    start: Iterate  #: the result is never worse than this
    rng: np.random.Generator  #: draws the sample of frames
    callback: Callback | None = None
    checkpoint: CheckpointWriter | None = None
    resumed: Snapshot | None = None  #: where it continues; None: at the start
