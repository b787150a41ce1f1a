"""The transform alone, for a given model of the power: the paper's first experiments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays, checks
from phinmf._types import Array
from phinmf.algorithm.alternate import alternate
from phinmf.algorithm.group import Callback, Restart
from phinmf.algorithm.model import Iterate, Model
from phinmf.algorithm.single import Single
from phinmf.fit import power
from phinmf.fit.data import Data, data_of
from phinmf.fit.engine import engine_for
from phinmf.fit.options import FitOptions
from phinmf.fit.outcome import result_of
from phinmf.fit.seeds import spawn
from phinmf.fit.weights import in_units
from phinmf.inits import Frames
from phinmf.result import Result


@dataclass(frozen=True)
class TransformProblem:
    """Frames and the model of their power that Φ is fitted to."""

    data: Data
    V_hat: Array  #: (M, N), at unit power
    options: FitOptions

    @classmethod
    def of(cls, Y: Any, V_hat: ArrayLike, options: FitOptions) -> TransformProblem:
        """Check the arguments of `learn_transform`."""
        data, floor = data_of(Y, options.algorithm, may_merge=False), options.algorithm.floor
        _, M, N = data.Y.shape
        model = checks.factor("V_hat", V_hat, (M, N), np.float64)
        unit = arrays.like(model, data.Y) / data.scale**2
        unit = arrays.frames_contiguous(unit, arrays.dtype_of(data.Y))
        if floor == 0 and (zeros := int(arrays.namespace(unit).sum(unit == 0))):
            raise ValueError(
                f"floor is 0 but V_hat has {zeros} zeros, which cost infinitely"
                " much: set floor to a small number such as 1e-8"
            )
        if M == 1:  # a 1×1 transform has nothing to learn
            options = options.keeping_Phi()
        return cls(data, unit, options)

    def solve(self, random_state: Any, callback: Callback | None) -> Result:
        """Learn Φ from one start."""
        data, options = self.data, self.options
        Y, floor = data.Y, options.algorithm.floor
        rng_Phi, rng_frames = spawn(random_state, 2)
        Phi = arrays.like(options.init.start(Frames(Y), rng_Phi, arrays.dtype_of(Y)), Y)
        if floor == 0:
            power.check_entries(Phi, Y, learned=True)
        factors = arrays.zeros((Y.shape[1], 0), Y), arrays.zeros((0, Y.shape[2]), Y)
        seen = in_units(callback, data.unit, data.scale)
        restart = Restart(Iterate(Phi, *factors), rng_frames, seen)
        penalty, n_threads = options.algorithm.penalty, options.n_threads
        with engine_for(options.engine, Y, options.divergence, penalty, n_threads) as engine:
            group = Single(Model(engine, penalty, self.V_hat), options.algorithm)
            schedule = data.schedule(options.algorithm)
            (outcome,) = alternate(group, [restart], options.algorithm, schedule)
        return replace(result_of(outcome, options.algorithm, data.scale), W=None, H=None)
