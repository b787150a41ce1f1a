"""The transform alone, for a fixed model of the power: the paper's first experiments."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays, checks
from phinmf._types import AnyArray, Array, Indices, RandomState
from phinmf.algorithm.alternate import alternate
from phinmf.algorithm.model import Iterate, Model
from phinmf.algorithm.options import Options
from phinmf.algorithm.run import Run
from phinmf.fit import scaling
from phinmf.fit.data import Data, data_of
from phinmf.fit.engine import engine_for
from phinmf.fit.few_atoms import FewAtoms, check_length
from phinmf.fit.finalize import result_of, warn_unless_converged
from phinmf.fit.restarts import spawn
from phinmf.fit.weights import in_units
from phinmf.once import once
from phinmf.result import Callback, Result, State


@dataclass(frozen=True)
class TransformProblem:
    """Frames and the model of their power that Φ is fitted to."""

    data: Data
    V_hat: Array  #: (M, N), at unit power
    options: Options

    @classmethod
    def of(cls, Y: AnyArray, V_hat: ArrayLike, options: Options) -> TransformProblem:
        """Check the arguments of `learn_transform`."""
        floor = options.floor
        data = data_of(checks.frames(Y), options, may_merge=False)
        _, M, N = data.Y.shape
        model = checks.factor("V_hat", V_hat, (M, N), np.float64)
        unit = arrays.like(model, data.Y) / data.scale**2
        unit = arrays.frames_contiguous(unit, arrays.dtype_of(data.Y))
        if floor == 0 and (zeros := int(arrays.namespace(unit).sum(unit == 0))):
            raise ValueError(
                f"floor is 0 but V_hat has {zeros} zeros, which cost infinitely"
                " much: set floor to a small number such as 1e-8"
            )
        check_length(options.n_atoms, M)
        if M == 1:  # a 1×1 transform has nothing to learn
            options = options.keeping_Phi()
        return cls(data, unit, options)

    def solve(self, random_state: RandomState, callback: Callback | None) -> Result:
        """Learn Φ from one start."""
        data, options, few = self.data, self.options, self.few_atoms
        Y, floor = data.Y, options.floor
        rng_Phi, rng_sample = spawn(random_state, 2)
        Phi = arrays.like(options.init.start(data.weighted, rng_Phi, arrays.dtype_of(Y)), Y)
        if few is not None:
            Phi = few.nearest(Phi[self.order])
        if floor == 0:
            scaling.check_entries(Phi, Y, learned=True)
        factors = arrays.zeros((Y.shape[1], 0), Y), arrays.zeros((0, Y.shape[2]), Y)
        callback = in_units(self.in_rows_of_the_model(callback), data.unit, data.scale)
        penalty, n_threads = options.penalty, options.n_threads
        subspace, number = (None, None) if few is None else (few.subspace, few.number)
        solver = options.solver
        with engine_for(options.engine, Y, options.divergence, n_threads, solver=solver) as engine:
            model = Model(engine, penalty, self.V_hat[self.order])
            schedule = data.schedule(options, n_atoms=number)
            start = Iterate(Phi, *factors)
            run = Run(model, options, schedule, start, rng_sample, subspace)
            outcome = alternate(run, callback)
        warn_unless_converged(outcome.status, options.tol)
        result = result_of(outcome, data, options, few)
        return replace(result, Phi=result.Phi[self.place])

    @once
    def few_atoms(self) -> FewAtoms | None:
        """The atoms that are learned; None: all."""
        return FewAtoms.of(self.options.n_atoms, self.data)

    @once
    def order(self) -> Indices | slice:
        """The rows of V̂ by falling power if few atoms are learned: these fit the strongest."""
        if self.few_atoms is None:
            return slice(None)
        powers = arrays.to_numpy(self.V_hat).sum(axis=1, dtype=np.float64)
        return arrays.indices(np.argsort(-powers, kind="stable"), self.V_hat)

    @once
    def place(self) -> Indices | slice:
        """The atom that fits each row of V̂."""
        if isinstance(self.order, slice):
            return self.order
        return arrays.indices(np.argsort(arrays.to_numpy(self.order)), self.V_hat)

    def in_rows_of_the_model(self, callback: Callback | None) -> Callback | None:
        """Let a callback see Φ with its atoms in the order of V̂."""
        if callback is None or self.few_atoms is None:
            return callback

        def reordered(state: State) -> object:
            return callback(replace(state, Phi=state.Phi[self.place]))

        return reordered
