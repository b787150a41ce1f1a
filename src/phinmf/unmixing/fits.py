"""The fits that learn a model of frames, one after the other on the same scaled frames.

A lower objective is not by itself a better separation: plain NMF in the start of the transform
comes first, the transform is learned from there, gently, and the factors once more in it
(docs/separation.md). If few atoms are learned, all of this happens on their rows alone. The rows
of the other atoms get their part of W at the end.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from phinmf import arrays
from phinmf._types import AnyArray, Array
from phinmf.algorithm.annealing import Anneal
from phinmf.algorithm.group import Callback
from phinmf.algorithm.model import Iterate, Model
from phinmf.algorithm.subspace import Subspace
from phinmf.fit.data import Data, data_of
from phinmf.fit.engine import engine_for
from phinmf.fit.few_atoms import FewAtoms
from phinmf.fit.given import given_factors
from phinmf.fit.options import FitOptions, fit_options
from phinmf.fit.problem import Problem
from phinmf.inits import KnownTransform, init_of
from phinmf.linalg.manifold import exactly_orthogonal
from phinmf.result import Result
from phinmf.unmixing.options import UnmixOptions

NMF_ITERATIONS, NMF_TOL = 200, 1e-5  #: maximum, in a fixed transform
ANNEAL = Anneal(start=3e-4, length=6)
OUTER_ITERATIONS = 9  #: that learn the transform
REST_STEPS = 20  #: of NMF on all rows, for those of atoms that are not learned


@dataclass(frozen=True)
class Fits:
    """Frames at unit power, and the atoms that are learned from them."""

    options: UnmixOptions
    data: Data
    few: FewAtoms | None  #: the atoms that are learned; None: all
    start: Subspace | None  #: the transform that begins with these
    Phi: Array  #: where their rotation starts
    rows: Data  #: the frames in terms of these atoms
    seed: int
    callback: Callback | None = None

    @classmethod
    def of(
        cls,
        Y: AnyArray,
        options: UnmixOptions,
        rng: np.random.Generator,
        callback: Callback | None = None,
    ) -> Fits:
        """Scale frames (C, M, N) to unit power, and find their strongest atoms."""
        data = data_of(Y, fit_options(sparsity=options.sparsity).algorithm)
        few = FewAtoms.of(options.n_atoms if options.solver is not None else None, data)
        dtype = arrays.dtype_of(data.Y)
        seed = int(rng.integers(2**63))
        start = init_of(options.init).start(data.weighted, np.random.default_rng(seed), dtype)
        Phi = arrays.like(start, data.Y)
        if few is None:
            return cls(options, data, None, None, Phi, data, seed, callback)
        subspace = few.start(Phi)
        Q = arrays.identity(few.number, Phi)
        rows = few.rows(data, subspace.basis)
        return cls(options, data, few, subspace, Q, rows, seed, callback)

    def nmf(self, before: Result | None = None, max_time: float | None = None) -> Result:
        """Factor the power in the start of the transform, or in that of an earlier fit."""
        how = self.how(before, solver=None, max_iter=NMF_ITERATIONS, tol=NMF_TOL, max_time=max_time)
        return self.solve(self.rows, how, before)

    def transform(self, before: Result, max_time: float | None = None) -> Result:
        """Learn the transform from an earlier fit."""
        how = self.how(
            before, solver=self.options.solver, anneal=ANNEAL, max_iter=OUTER_ITERATIONS, tol=0,
            max_time=max_time,
        )  # fmt: skip
        return self.solve(self.rows, how, before)

    def all_rows(self, last: Result) -> Result:
        """Return the last fit with all atoms, orthogonal in double precision.

        Those that were not learned get their rows of W.
        """
        if self.few is None or self.start is None:
            return replace(last, Phi=exactly_orthogonal(last.Phi, np.float64))
        assert last.W is not None
        assert last.H is not None
        how, unit = self.how(last, solver=None), self.data.scale**2
        penalty, floor = how.algorithm.penalty, how.algorithm.floor
        W = self.start.with_rows(Iterate(last.Phi, last.W, last.H / unit), len(self.start.basis))
        Phi = self.start.transform(arrays.cast(last.Phi, np.float64))
        with engine_for("auto", self.data.Y, how.divergence, penalty, how.n_threads) as engine:
            model = Model(engine, penalty)
            model.go_to(Iterate(arrays.cast(Phi, engine.dtype), W, last.H / unit))
            W = model.nmf(W, floor, how.algorithm.nmf_exponent, REST_STEPS)
        return self.few.noted(replace(last, Phi=Phi, W=W, H=None))

    def how(self, before: Result | None, **changes: object) -> FitOptions:
        """The options of a fit that starts from another one."""
        Phi = self.Phi if before is None else before.Phi
        o = self.options
        common = {"init": KnownTransform(Phi), "sparsity": o.sparsity, "n_threads": o.n_threads}
        return fit_options(**common, **changes)  # type: ignore[arg-type]

    def solve(self, data: Data, how: FitOptions, before: Result | None) -> Result:
        """Run a fit, from the factors of another one if there is one."""
        W, H = (None, None) if before is None else (before.W, before.H)
        K = self.options.n_components
        problem = Problem(data, given_factors(W, H, None, K, data), K, how)
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            (result,) = problem.solve([self.seed], [self.callback])
        return result
