"""The fits that learn a model of frames, one after the other on the same scaled frames.

Plain NMF in the start of the transform, annealed, is the first, and by default the only one. A
lower objective is not by itself a better separation: if the transform is learned, it is learned
from there, gently, and the factors once more in it (docs/measurements/separation.md). Few atoms are
learned on their rows alone. NMF always sees all rows: quiet ones say as much about when a drum is
hit as loud ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phinmf import arrays, checks
from phinmf._types import AnyArray, Array
from phinmf.algorithm.options import Anneal, Method, Options
from phinmf.algorithm.subspace import Subspace
from phinmf.fit.automatic import count_components
from phinmf.fit.data import Data, data_of
from phinmf.fit.devices import ComputeDevice
from phinmf.fit.initial_factors import initial_factors
from phinmf.fit.problem import Problem, prepared, warn_unless_converged
from phinmf.inits import Continuation
from phinmf.linalg.manifold import exactly_orthogonal
from phinmf.result import Callback, Result, State
from phinmf.unmixing.options import UnmixOptions
from phinmf.unmixing.progress import LEARNING, Progress, no_progress

NMF_ITERATIONS, NMF_TOL = 200, 5e-5  #: maximum, in a fixed transform
ANNEAL = Anneal(start=1e-2, length=6)
OUTER_ITERATIONS = 9  #: that learn the transform
#: Share of the energy beyond which atoms get a common row of W: they are 50 dB below the others,
#: and their masks are then computed as one (`masks.py`).
OWN_ROWS = 0.99999


@dataclass(frozen=True)
class Fits:
    """Frames at unit power, and how they are fitted."""

    options: UnmixOptions
    data: Data
    few: Subspace | None  #: of the atoms that are learned; None: all
    Phi: Array  #: where the transform starts, in double precision
    seed: int
    n_components: int
    place: ComputeDevice  #: where the frames are
    callback: Callback | None
    progress: Progress

    @classmethod
    def of(
        cls,
        place: ComputeDevice,
        options: UnmixOptions,
        rng: np.random.Generator,
        callback: Callback | None,
        progress: Progress,
        Phi: Array | None = None,
    ) -> Fits:
        """Scale frames (C, M, N) to unit power, and choose the atoms that are learned.

        The transform starts at Φ, by default at what the options name.
        """
        o = options
        how = Options(sparsity=o.sparsity, floor=o.floor, pairs=o.pairs, init=o.init)
        Y = checks.frames(place.take(place.frames))
        data = data_of(Y, how, may_merge=False)  # later fits start from the H of all frames
        seed = int(rng.integers(2**63))
        drawn = np.random.default_rng(seed)
        start = how.init.start(data, drawn, np.float64) if Phi is None else Phi
        Phi, few = strongest(arrays.like(start, data.Y), data.Y, options)
        K = options.likely_components
        return cls(options, data, few, Phi, seed, K, place, callback, progress)

    def counted(self, max_time: float | None = None) -> Fits:
        """The same with as many components as the frames have, counted in the DCT."""
        n_threads = self.options.n_threads
        how = Options(solver=None, init="dct", n_threads=n_threads, max_time=max_time)
        return replace(self, n_components=count_components(self.data, how))

    def nmf(
        self,
        before: Result | None = None,
        max_time: float | None = None,
        W: Array | None = None,
    ) -> Result:
        """Factor the power in the start of the transform, or continue an earlier fit in its own.

        W (P, n) are the first columns of W, which stay as they are.
        """
        problem = self.problem(
            before, None, W, solver=None, method=Method(anneal=before is None),
            max_iter=NMF_ITERATIONS, tol=NMF_TOL, max_time=max_time,
        )  # fmt: skip
        return self.solved(problem, 0 if before is None else 2)

    def transform(self, before: Result, max_time: float | None = None) -> Result:
        """Learn the transform from an earlier fit; it is orthogonal in double precision."""
        problem = self.problem(
            before, self.few, solver=self.options.solver, method=Method(anneal=ANNEAL),
            max_iter=OUTER_ITERATIONS, tol=0, max_time=max_time,
        )  # fmt: skip
        result = self.solved(problem, 1)
        if self.few is None:
            return replace(result, Phi=exactly_orthogonal(result.Phi, np.float64))
        return replace(result, Phi=self.few.in_double(result.Phi))

    def pooled(self, W: AnyArray) -> AnyArray:
        """Return W with a common row for the atoms that hold next to nothing."""
        return W if self.few is None else self.few.pooled(W, OWN_ROWS)

    def problem(
        self,
        before: Result | None,
        few: Subspace | None,
        W: Array | None = None,
        **how: Any,
    ) -> Problem:
        """A fit of these atoms from the transform and the factors of another one, or with W."""
        o, data, K = self.options, self.data, self.n_components
        fixed = None if W is None else "W"
        Phi, W, H = (self.Phi, W, None) if before is None else (before.Phi, before.W, before.H)
        options = Options(
            init=Continuation(Phi), sparsity=o.sparsity, floor=o.floor, pairs=o.pairs,
            n_threads=o.n_threads, **how,
        )  # fmt: skip
        P = data.M // options.atoms_per_power
        return prepared(data, options, initial_factors(W, H, fixed, K, data, P), few)

    def solved(self, problem: Problem, number: int) -> Result:
        """Run one of the fits, counted from 0; not converging is no surprise here."""
        max_iter, n_fits = problem.options.max_iter, 1 if self.options.solver is None else 3

        def after_iteration(state: State) -> bool:
            self.progress(LEARNING, (number + state.iteration / max_iter) / n_fits)
            callback, state = self.callback, self.place.for_callback(state)
            return callback is not None and bool(callback(state))

        watched = self.callback is not None or self.progress is not no_progress
        result = problem.fit(self.seed, after_iteration if watched else None)
        warn_unless_converged(result.status, tol=0)
        return result


def strongest(Phi: Array, Y: AnyArray, options: UnmixOptions) -> tuple[Array, Subspace | None]:
    """Return a transform with its strongest atoms first, and those that are learned (None: all).

    Pairs stay together. The strongest are rotated among each other; the others stay as they are.
    Inside the leading eigenvectors, where `tl_nmf` learns few atoms, the others would be silent if
    frames are few, and NMF would fit their silence.
    """
    if options.n_atoms is None or options.solver is None:
        return Phi, None
    X = arrays.cast(Phi, arrays.dtype_of(Y)) @ Y
    powers = arrays.to_numpy((X * X).mean(axis=(0, 2))).astype(np.float64)
    size = 2 if options.pairs else 1
    groups = np.argsort(-powers.reshape(-1, size).sum(axis=1), kind="stable")
    order = (size * groups[:, None] + np.arange(size)).ravel()
    subspace = Subspace(Phi[arrays.indices(order, Phi)], powers[order])
    few = subspace.with_few(options.n_atoms, size)
    return few.basis, None if few.n_atoms is None else few
