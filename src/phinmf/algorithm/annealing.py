"""Annealing the floor: barriers between sign patterns are low at first and rise during the run.

At a tiny floor the term -log x² makes a barrier around every sign pattern of X, and each has its
own local minimum. At a high floor the transform can cross these barriers, a few frames are enough
to find a direction, and so is single precision. Atoms whose power is far below the floor are not
seen at all. So a run begins with a sample of the frames in float32 and with the strongest atoms of
their Karhunen–Loève transform, uses all frames and more and more atoms as the floor falls, and ends
at the target floor with all of them. Its last NMF steps are in the precision of the data, and so is
what comes before them at the target if a small `tol` asks for it. (Small problems are neither
sampled nor computed in single precision, nor do they begin with few atoms: it would save no time.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from phinmf import checks
from phinmf._types import Precision
from phinmf.algorithm.subspace import Subspace

TIME_SHARE = 0.7  #: share of max_time after which the floor is the target
STAGES = 4  #: numbers of atoms that a run may go through: M/8, M/4, M/2, M
SINGLE_PAYS = 2**17  #: minimum number of samples for which single precision saves time
SINGLE_SERVES = 1e-10  #: floor below which rounding in single precision matters
SINGLE_CONVERGES = 1e-4  #: tol below which it matters for convergence
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


@dataclass(frozen=True)
class Anneal:
    """A schedule of floors: start · (knee/start)^(progress^shape), then the target at once.

    Parameters
    ----------
    start : float
        First floor, relative to the mean power.
    length : int
        Outer iterations from the start to the knee; compressed when max_iter or max_time is short.
    shape : float
        1 is a geometric schedule; if larger, the floor stays high for longer, then falls faster.
    knee : float
        Floor from which the schedule jumps to the target, since little changes below it.
    sample : float
        Number of frames of the sample, as a multiple of M, while the floor is above `all_frames`;
        0 always uses all frames.
    all_frames : float
        Floor below which all frames are used.
    coarse : float
        Only atoms of the Karhunen–Loève transform whose mean power is at least this multiple of
        the floor are learned, up to the knee; 0 always learns all of them. A run that starts from
        a given transform, W or H does so anyway.
    """

    start: float = 0.05
    length: int = 32
    shape: float = 2.5
    knee: float = 1e-6
    sample: float = 3.0
    all_frames: float = 2e-3
    coarse: float = 30.0

    def __post_init__(self) -> None:
        for name in ("start", "shape", "knee"):
            checks.number(name, getattr(self, name), 0, strict=True)
        for name in ("sample", "all_frames", "coarse"):
            checks.number(name, getattr(self, name), 0)
        checks.count("length", self.length, 1)


class Stage(NamedTuple):
    """What outer iterations compute with: the precision, the frames and the atoms."""

    dtype: Precision
    n_frames: int | None = None  #: size of the sample; None: all frames
    n_atoms: int | None = None  #: number of atoms that are learned; None: all

    def same_terms(self, other: Stage) -> bool:
        """Whether the objective is a sum over the same frames and atoms in another stage."""
        return (self.n_frames, self.n_atoms) == (other.n_frames, other.n_atoms)


class Phase(NamedTuple):
    """The floor of one outer iteration, and what it computes with."""

    floor: float
    stage: Stage
    high: bool = False  #: whether the floor is high: more NMF steps, on a sample of the frames
    final: bool = False  #: whether the floor is the target: only then the run may converge


class Schedule:
    """The phase of each outer iteration of a fit to frames of this shape and precision.

    A frame of weight 2 counts as two. `may_sample` is False if weights are not whole numbers: then
    no sample of frames can be drawn. At most `n_atoms` atoms are learned; fewer while the floor is
    high if the `subspace` of a coarse beginning is given.
    """

    def __init__(
        self,
        anneal: Anneal | None,
        target: float,
        shape: tuple[int, int, int],
        max_iter: int,
        max_time: float | None,
        may_sample: bool = True,
        subspace: Subspace | None = None,
        n_atoms: int | None = None,
        tol: float = 0.0,
        dtype: Precision = DOUBLE,
    ) -> None:
        _, M, N = shape
        self.M, self.dtype = M, dtype
        self.n_atoms = None if n_atoms == M else n_atoms
        self.sizes = sorted({math.ceil(M / 2**stage) for stage in range(STAGES)})
        self.anneal = anneal if anneal and anneal.start > target else None
        self.target = target
        self.max_time = max_time
        self.sample_size: int | None = None
        self.coarse: Subspace | None = None  #: counts the atoms at a high floor; None: all of them
        if self.anneal:
            self.length = max(1, min(self.anneal.length, max_iter - 1 - max_iter // 8))
            n = round(self.anneal.sample * M)
            self.sample_size = n if 0 < n <= N // 2 and may_sample else None
            self.coarse = subspace if self.anneal.coarse else None
        self.single = math.prod(shape) >= SINGLE_PAYS
        self.single_at_target = self.single and target >= SINGLE_SERVES and tol >= SINGLE_CONVERGES

    def phase(self, iteration: int, seconds: float) -> Phase:
        """Return the phase of an outer iteration that begins after this many seconds."""
        if not self.anneal:
            return Phase(self.target, Stage(self.dtype, n_atoms=self.n_atoms), final=True)
        progress = iteration / self.length
        if self.max_time and iteration:  # the first one is the same however little time there is
            progress = max(progress, seconds / (TIME_SHARE * self.max_time))
        if progress >= 1:
            dtype = self.precision(self.single_at_target)
            return Phase(self.target, Stage(dtype, n_atoms=self.n_atoms), final=True)
        start = self.anneal.start
        knee = min(start, max(self.anneal.knee, self.target))
        floor = max(start * (knee / start) ** (progress**self.anneal.shape), self.target)
        high = floor > self.anneal.all_frames
        stage = Stage(
            self.precision(self.single and floor >= SINGLE_SERVES),
            self.sample_size if high else None,
            self.number_of_atoms(self.anneal.coarse * floor),
        )
        return Phase(floor, stage, high)

    def precision(self, single: bool) -> Precision:
        """Return single precision, or that of the data."""
        return SINGLE if single else self.dtype

    def number_of_atoms(self, power: float) -> int | None:
        """Return how many atoms to learn if those of less mean power are left out; None: all."""
        n = self.n_atoms or self.M
        if self.coarse is not None:
            strong = self.coarse.count(power)
            n = min(n, next(size for size in self.sizes if size >= strong))
        return n if n < self.M else None

    def allows(self, n_atoms: int | None) -> bool:
        """Whether a run may have learned P atoms (None: all), also on another device."""
        largest, n = self.n_atoms or self.M, n_atoms or self.M
        return n == largest or (self.coarse is not None and n < largest)
