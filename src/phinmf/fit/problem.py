"""A fit without its random state: checked and scaled once for all restarts."""

from __future__ import annotations

import math
import numbers
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays, checks
from phinmf._types import AnyArray, Array, Components, Fixed, RandomState
from phinmf.algorithm.alternate import alternate
from phinmf.algorithm.model import Iterate, Model
from phinmf.algorithm.nmf import normalise
from phinmf.algorithm.options import Options
from phinmf.algorithm.run import Outcome, Run
from phinmf.algorithm.schedule import SINGLE_PAYS, Schedule
from phinmf.algorithm.subspace import Subspace
from phinmf.arrays.threads import available, single_threaded_blas
from phinmf.engines import engine_for
from phinmf.fit import scaling
from phinmf.fit.automatic import checked_components, counted
from phinmf.fit.checkpoint import Checkpoint
from phinmf.fit.data import Data, data_of
from phinmf.fit.description import description, digest_of_frames, seed_of
from phinmf.fit.few_atoms import FewAtoms, check_length, shares
from phinmf.fit.finalize import (
    in_units_of_data,
    result_of,
    warn_unless_converged,
    with_left_out_frames,
)
from phinmf.fit.initial_factors import InitialFactors, initial_factors
from phinmf.fit.restarts import in_threads, in_turn
from phinmf.fit.weights import in_units
from phinmf.once import once
from phinmf.result import Callback, Result

COARSE_PAYS = SINGLE_PAYS  #: minimum number of samples for which a coarse beginning saves time


@dataclass(frozen=True)
class Problem:
    """Frames, a number of components, and how they are learned."""

    data: Data
    initial: InitialFactors
    n_components: int
    options: Options
    chosen: FewAtoms | None = None  #: atoms to learn instead of the leading eigenvectors

    def solve(
        self,
        random_states: Sequence[RandomState],
        callbacks: Sequence[Callback | None],
        jobs: int = 1,
        checkpoint: Checkpoint | None = None,
        began: Callable[[int], object] | None = None,
        ended: Callable[[int, Result], object] | None = None,
    ) -> list[Result]:
        """Run one restart for each random state, in `jobs` threads or one after the other.

        `began` is called with the number of a restart when it begins, `ended` with its number and
        its result.
        """
        problem = self.sharing_threads(jobs) if jobs > 1 else self

        def restart(number: int, callback: Callback | None) -> Result:
            if began is not None:
                began(number)
            own = None if checkpoint is None else checkpoint.of_restart(number, len(callbacks))
            result = problem.fit(random_states[number], callback, own)
            if ended is not None:
                ended(number, result)
            return result

        return in_threads(restart, callbacks, jobs) if jobs > 1 else in_turn(restart, callbacks)

    def sharing_threads(self, jobs: int) -> Problem:
        """Return the same problem for restarts in threads, which share the processors."""
        problem = self
        if self.options.n_threads is None:
            n_threads = max(1, available() // jobs)
            problem = replace(self, options=replace(self.options, n_threads=n_threads))
        with single_threaded_blas:  # computed here, so that not each of them does it
            _ = problem.schedule
            if not problem.options.init.draws:
                _ = problem.common_start
        return problem

    def fit(
        self,
        random_state: RandomState,
        callback: Callback | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Result:
        """Run Algorithm 1 from one start."""
        data, options = self.data, self.options
        if callback is not None:
            callback = in_units(callback, data.unit, data.scale)
        seed = None if checkpoint is None else seed_of(random_state)
        pair_losses = options.solver is not None and options.solver.needs_pair_losses
        with engine_for(
            options.engine, data.Y, options.divergence, options.n_threads, data.weights,
            data.links, pair_losses, options.smoothness, options.device,
        ) as engine:  # fmt: skip
            model = Model(engine, options.penalty, fixed=self.initial.fixed)
            rng_Phi, rng_W, rng_sample = checks.generators(random_state, 3)
            start = self.start(rng_Phi, rng_W, engine.powers())
            run = Run(model, options, self.schedule, start, rng_sample, self.subspace)
            save = None
            if checkpoint is not None:
                own = description(options, data, self.digest, self.initial, self.n_components, seed)
                save = checkpoint.attach(run, own)
            outcome = alternate(run, callback, save)
        return self.result(outcome)

    def start(
        self, rng_Phi: np.random.Generator, rng_W: np.random.Generator, powers: Array
    ) -> Iterate:
        """Return Φ, W and H at the start, from the mean power (N,) of each frame."""
        data, options = self.data, self.options
        Phi, mixing = self.start_of_Phi(rng_Phi) if self.options.init.draws else self.common_start
        if options.floor == 0:
            learned = options.solver is not None
            scaling.check_entries(Phi, arrays.take_frames(data.Y, data.columns), learned)
        start = Iterate(Phi, *self.initial.start(powers, options.penalty, rng_W))
        if mixing is not None:
            n = self.initial.W.shape[1]
            start.W[:, :n] = mixing @ start.W[:, :n]
        if options.floor == 0 and not arrays.namespace(Phi).all(start.W @ start.H != 0):
            raise ValueError(
                "floor is 0 but the given W and H model some entries as 0, which costs infinitely"
                " much: set floor to a small number such as 1e-8"
            )
        return start

    def start_of_Phi(self, rng: np.random.Generator | None) -> tuple[Array, Array | None]:
        """Return the start of Φ, and the matrix that the caller's columns of W are multiplied by.

        If few atoms are learned, they replace the strongest ones, and W is carried over to these.
        """
        data, rng, few = self.data, rng or np.random.default_rng(0), self.few_atoms
        start = self.options.init.start(data.weighted, rng, self.initial.dtype)
        Phi = arrays.like(start, data.Y)
        if few is None or self.chosen is not None:
            return Phi, None  # a start that was chosen is in terms of its own atoms
        nearest = few.nearest(Phi)
        return nearest, shares(Phi, nearest) if self.initial.W.shape[1] else None

    @once
    def common_start(self) -> tuple[Array, Array | None]:
        """The start of Φ in all restarts, if nothing is drawn."""
        return self.start_of_Phi(None)

    @once
    def digest(self) -> str:
        """A text that identifies the frames and the weights of the caller, for checkpoints."""
        return digest_of_frames(self.data.frames, self.data.frame_weights)

    @once
    def few_atoms(self) -> FewAtoms | None:
        """The atoms that are learned; None: all."""
        n_atoms = self.options.n_atoms
        if self.chosen is not None or n_atoms is None:
            return self.chosen
        return FewAtoms.of(n_atoms, self.data)

    @once
    def subspace(self) -> Subspace | None:
        """The subspace of few atoms, or that in which learning all atoms begins, if it does."""
        if self.few_atoms is not None:
            subspace = self.few_atoms.subspace
            mixing = None if self.options.init.draws else self.common_start[1]
            if self.initial.W.shape[1] < self.n_components:
                return subspace
            W = normalise(arrays.cast(self.initial.W, self.initial.dtype))[0]
            if self.chosen is not None:
                return replace(subspace, W=W)
            return subspace if mixing is None else replace(subspace, W=mixing @ W)
        return Subspace(*self.data.weighted.karhunen_loeve) if self.begins_coarse else None

    @once
    def begins_coarse(self) -> bool:
        """Whether runs begin with few atoms: not if a transform or factors would be lost."""
        options, anneal = self.options, self.options.anneal
        if anneal is None or options.solver is None or options.init.all_atoms or self.initial.used:
            return False
        if options.max_iter == 0 or anneal.start <= options.floor or anneal.coarse == 0:
            return False
        return math.prod(self.data.Y.shape) >= COARSE_PAYS

    @once
    def schedule(self) -> Schedule:
        """The floor, the frames and the atoms of each outer iteration."""
        number = None if self.few_atoms is None else self.few_atoms.number
        coarse = self.subspace if self.begins_coarse else None
        return self.data.schedule(self.options, coarse, number)

    def result(self, outcome: Outcome) -> Result:
        """Return the result in the units of the caller, and for all of his frames."""
        data, initial, options = self.data, self.initial, self.options
        warn_unless_converged(outcome.status, options.tol)
        Phi, H = outcome.iterate.Phi, in_units_of_data(outcome.iterate.H, data.scale)
        W, H = initial.in_units_of_caller(outcome.iterate.W, H, data.columns)
        if not isinstance(data.used, slice):
            if initial.H_original is not None and initial.fixed.H is not None:
                H = initial.H_original
            else:
                H = with_left_out_frames(Phi, W, H, data, options)
        return result_of(outcome, data, options, self.few_atoms, W, H)


def problem_of(
    frames: AnyArray,
    n_components: Components,
    options: Options,
    *,
    W: ArrayLike | None = None,
    H: ArrayLike | None = None,
    fixed: Fixed = None,
    sample_weight: ArrayLike | None = None,
) -> Problem:
    """Return the fit of frames (C, M, N), checked by `checks.frames`; check its other arguments."""
    data = data_of(frames, options, sample_weight=sample_weight, may_merge=H is None)
    M, used = data.Y.shape[1], data.used
    n_used = frames.shape[2] if isinstance(used, slice) else len(used)
    if not isinstance(n_components, numbers.Integral):  # "auto"
        checked_components(n_components)
        began = time.perf_counter()
        n_components = counted(data, options, W, H, fixed)
        options = options.after(time.perf_counter() - began)
    most = (min(M, n_used), f" = min(M={M}, N={n_used})") if W is None else (None, "")
    K = checks.count("n_components", n_components, 1, *most)
    initial = initial_factors(W, H, fixed, K, data)
    if options.n_atoms is not None:
        check_length(options.n_atoms, M)
        check_fixed(initial)
    if initial.fixes_Phi or M == 1:  # a 1×1 transform has nothing to learn
        options = options.keeping_Phi()
    return Problem(data, initial, K, options)


def check_fixed(initial: InitialFactors) -> None:
    """Raise if a fit that learns few atoms is to keep what these replace."""
    if initial.fixed.columns is not None:
        raise ValueError(
            "n_atoms is set and fixed names W, but rows of W belong to atoms of the start, which"
            " n_atoms replaces: leave one of them out"
        )
    if initial.fixes_Phi:
        raise ValueError(
            "n_atoms is set and fixed names Phi, so that no atoms are learned: leave one of them"
            " out"
        )
