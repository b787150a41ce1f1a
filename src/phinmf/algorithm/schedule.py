"""The schedule of a run: floor, frames, atoms and precision of each outer iteration.

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
from typing import NamedTuple

import numpy as np

from phinmf._types import Precision
from phinmf.algorithm.options import Options
from phinmf.algorithm.subspace import Subspace
from phinmf.arrays import dtype_of
from phinmf.inits import Frames

TIME_SHARE = 0.7  #: share of max_time after which the floor is the target
SINGLE_PAYS = 2**17  #: minimum number of samples for which single precision saves time
SINGLE_SERVES = 1e-10  #: floor below which rounding in single precision matters
SINGLE_CONVERGES = 1e-4  #: tol below which it matters for convergence
SINGLE = np.dtype(np.float32)


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
    """The phase of each outer iteration of a fit to frames.

    At most `n_atoms` atoms are learned (None: all); fewer while the floor is high, if there is the
    `subspace` of a coarse beginning.
    """

    def __init__(
        self,
        options: Options,
        frames: Frames,
        subspace: Subspace | None = None,
        n_atoms: int | None = None,
    ) -> None:
        C, M, N = frames.Y.shape
        # a frame of weight 2 counts as two; of other weights no sample of frames can be drawn, and
        # a sample has no neighbours
        whole = frames.weights is None or bool((frames.weights % 1 == 0).all())
        if frames.weights is not None and whole:
            N = int(frames.weights.sum())
        may_sample = whole and not options.smoothness
        self.M, self.dtype = M, dtype_of(frames.Y)
        self.target, self.max_time = options.floor, options.max_time
        self.n_atoms = None if n_atoms == M else n_atoms
        self.group = options.atoms_per_power  #: only whole pairs are learned
        self.anneal = options.anneal
        self.sample_size: int | None = None
        self.coarse: Subspace | None = None  #: counts the atoms at a high floor; None: all of them
        if self.anneal:
            last = options.max_iter - 1 - options.max_iter // 8
            self.length = max(1, min(self.anneal.length, last))
            n = round(self.anneal.sample * M)
            self.sample_size = n if 0 < n <= N // 2 and may_sample else None
            self.coarse = subspace if self.anneal.coarse else None
        self.single = C * M * N >= SINGLE_PAYS
        converges = self.target >= SINGLE_SERVES and options.tol >= SINGLE_CONVERGES
        self.single_to_the_end = self.single and converges

    def phase(self, iteration: int, seconds: float) -> Phase:
        """Return the phase of an outer iteration that begins after this many seconds."""
        if not self.anneal:
            return Phase(self.target, Stage(self.dtype, n_atoms=self.n_atoms), final=True)
        progress = iteration / self.length
        if self.max_time and iteration:  # the first one is the same however little time there is
            progress = max(progress, seconds / (TIME_SHARE * self.max_time))
        if progress >= 1:
            dtype = self.precision(self.single_to_the_end)
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
            sizes = (self.group * math.ceil(self.M / self.group / part) for part in (8, 4, 2, 1))
            strong = self.coarse.count(power)
            n = min(n, next(size for size in sizes if size >= strong))
        return n if n < self.M else None

    def allows(self, n_atoms: int | None) -> bool:
        """Whether a run may have learned P atoms (None: all), also on another device."""
        largest, n = self.n_atoms or self.M, n_atoms or self.M
        return n == largest or (self.coarse is not None and n < largest)
