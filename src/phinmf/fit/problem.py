"""A fit but for its random state: what was given, checked and scaled once for all restarts."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phinmf import arrays, checks
from phinmf._types import Array, Indices
from phinmf.algorithm.alternate import Callback, Settings
from phinmf.algorithm.model import Iterate, Model
from phinmf.arrays.threads import Workers, available
from phinmf.divergences import Divergence, is_compiled
from phinmf.fit import assembly
from phinmf.fit import given as starts
from phinmf.fit.assembly import Data
from phinmf.fit.checkpoint import attach
from phinmf.fit.description import description, seed_of
from phinmf.fit.devices import free_memory
from phinmf.fit.encode import encode
from phinmf.fit.weights import checked, in_own_unit, told_in_unit, weighted
from phinmf.inits import Frames, init_of
from phinmf.result import Result, Status
from phinmf.solvers import LBFGS, Solver

LEAST_FLOOR_OF_BATCH = 1e-60  #: whose kernels multiply four ratios of a power to the floor


@dataclass(frozen=True)
class Problem:
    """Frames, a number of components, and how they are to be learned."""

    frames: Any  #: (C, M, N) as given
    weights: Array | None  #: as given
    unit: float  #: of the weights in the data
    data: Data
    given: starts.Given
    n_components: int
    mu: float
    init: Any
    how: dict[str, Any]  #: arguments of `assembly.settings`
    divergence: str | Divergence
    engine: str
    n_threads: int | None

    def settings(self, rng: np.random.Generator, callback: Callback | None) -> Settings:
        """The settings of one restart, whose generator draws its sample of the frames."""
        return assembly.settings(
            self.data.Y.shape, mu=self.mu, callback=callback, rng=rng, weights=self.data.weights,
            scale=self.data.scale, **self.how,
        )  # fmt: skip

    def start(
        self, rng_Phi: np.random.Generator, rng_W: np.random.Generator, powers: Array
    ) -> Iterate:
        """Where one restart begins, given the power of each frame."""
        data = self.data
        seen = Frames(data.Y, data.weights)
        Phi = arrays.like(init_of(self.init).start(seen, rng_Phi, self.given.dtype), data.Y)
        if self.how["floor"] == 0:
            learned = self.how["solver"] is not None
            checks.entries(Phi, arrays.frames_of(data.Y, data.place), learned)
        start = Iterate(Phi, *self.given.start(powers, self.mu, rng_W))
        if self.how["floor"] == 0 and not arrays.namespace(Phi).all(start.W @ start.H != 0):
            raise ValueError(
                "floor is 0 but the given W and H model some entries as 0, which costs infinitely"
                " much: set floor to a small number such as 1e-8"
            )
        return start

    def alone(
        self,
        random_state: Any,
        callback: Callback | None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = 0.0,
        resume: str | os.PathLike[str] | bool = False,
    ) -> Result:
        """One restart by the readable algorithm, on any engine."""
        seed = seed_of(random_state)  # before it is drawn from
        rng_Phi, rng_W, rng_frames = assembly.streams(random_state, 3)
        run = self.settings(rng_frames, told_in_unit(callback, self.unit))
        data, kept = self.data, self.given.kept
        with assembly.engine_of(
            self.engine, data.Y, self.divergence, self.n_threads, data.weights
        ) as held:
            start = self.start(rng_Phi, rng_W, held.powers())
            model = Model(held, self.mu, kept=kept)
            at = None
            if checkpoint is not None or resume is not False:
                problem = description(
                    run, self.frames, self.weights, self.n_components, self.divergence, kept,
                    self.given.W, self.given.H_as_given, self.init, seed,
                )  # fmt: skip
                run, at = attach(run, problem, checkpoint, every, resume, start, model)
            result = assembly.solve(model, start, run, data.scale, at)
        return self.finished(result)

    @property
    def runs_in_lockstep(self) -> bool:
        """Whether restarts on tensors can run as one batch, which goes along the exponential."""
        solver = self.how["solver"]
        return bool(
            self.engine == "auto"
            and arrays.is_tensor(self.data.Y)
            and (solver == "lbfgs" or (isinstance(solver, LBFGS) and solver.fits_a_batch))
            and self.data.Y.shape[1] > 1
            and self.given.kept.H is None
            and is_compiled(assembly.divergence_of(self.divergence))
            and self.how["floor"] >= LEAST_FLOOR_OF_BATCH
        )

    def together(
        self, random_states: Sequence[Any], callbacks: Sequence[Callback | None]
    ) -> list[Result]:
        """Restarts in lockstep, as many at a time as the device has memory for."""
        lockstep = importlib.import_module("phinmf.tensors.run")  # which needs PyTorch
        shared = importlib.import_module("phinmf.tensors.frames")
        data = self.data
        N = data.Y.shape[2]
        weights = np.ones(N) if data.weights is None else data.weights
        divergence: Any = assembly.divergence_of(self.divergence)
        kept = self.given.kept.columns
        frames = shared.Frames(data.Y, weights, divergence.log_share, kept)
        powers = arrays.namespace(data.Y).mean(data.Y * data.Y, axis=(0, 1))
        results = []
        most = shared.restarts_within(free_memory(data.Y.device), frames, self.n_components)

        def begin(number: int) -> tuple[Settings, Iterate]:
            rng_Phi, rng_W, rng_frames = assembly.streams(random_states[number], 3)
            run = self.settings(rng_frames, told_in_unit(callbacks[number], self.unit))
            return run, self.start(rng_Phi, rng_W, powers)

        for first in range(0, len(random_states), most):
            begun: list[tuple[Settings, Iterate]] = []
            some = range(first, min(first + most, len(random_states)))
            with Workers(self.n_threads or min(available(), len(some))) as workers:
                workers.in_order(begin, some, begun.append)
            runs, iterates = zip(*begun, strict=True)
            for outcome in lockstep.run_together(frames, iterates, runs):
                results.append(self.finished(assembly.result_of(outcome, runs[0], data.scale)))
            if results[-1].status is Status.INTERRUPTED:
                break
        return results

    def finished(self, result: Result) -> Result:
        """The result in the units and for all frames of what was given."""
        data, given = self.data, self.given
        result = given.in_its_units(result, data.place)
        if self.unit != 1:
            costs = ("objective", "divergence", "penalty")
            scaled = {name: self.unit * getattr(result, name) for name in costs}
            result = replace(result, history=weighted(result.history, self.unit), **scaled)
        if isinstance(data.used, slice):
            return result
        if given.kept.H is not None:
            return replace(result, H=given.H_as_given)
        return with_the_other_frames(
            result, self.frames, data.used, divergence=self.divergence, engine=self.engine,
            n_threads=self.n_threads, sparsity=self.mu, floor=self.how["floor"],
        )  # fmt: skip


def problem_of(
    Y: Any,
    n_components: int,
    *,
    solver: str | Solver | None,
    sparsity: float,
    floor: float,
    nmf_exponent: float,
    init: Any,
    divergence: str | Divergence,
    engine: str,
    n_threads: int | None,
    W: Any = None,
    H: Any = None,
    fixed: Any = None,
    sample_weight: Any = None,
    frame_mask: Any = None,
    **how: Any,
) -> Problem:
    """Check the arguments of `tl_nmf`; `how` goes on to `assembly.settings`."""
    assembly.divergence_of(divergence)
    frames = checks.frames(Y)
    _, M, N = frames.shape
    mu = checks.number("sparsity", sparsity, 0)
    if n_threads is not None:
        checks.count("n_threads", n_threads, 1)
    weights = checked(sample_weight, frame_mask, N)
    floor = checks.number("floor", floor, 0)
    checks.in_range(arrays.dtype_of(frames), sparsity=mu, floor=floor)
    used, unit = in_own_unit(weights)
    data = assembly.data_of(frames, used, floor, H is None)
    n_used = N if isinstance(data.used, slice) else len(data.used)
    most = (min(M, n_used), f" = min(M={M}, N={n_used})") if W is None else (None, "")
    K = checks.count("n_components", n_components, 1, *most)
    given = starts.given(W, H, fixed, K, N, data)
    how |= {"solver": None if given.keeps_Phi else solver, "floor": floor}
    how["gamma"] = assembly.exponent(nmf_exponent)
    return Problem(
        frames, weights, unit, data, given, K, mu, init, how, divergence, engine, n_threads
    )


def with_the_other_frames(result: Result, Y: Any, used: Indices, **how: Any) -> Result:
    """The result with activations of all frames, found for those that were left out of the fit."""
    assert result.W is not None
    assert result.H is not None
    N = Y.shape[2]
    others = np.setdiff1d(np.arange(N), used)
    H = arrays.zeros((len(result.H), N), result.H)
    H[:, arrays.indices(used, H)] = result.H
    left_out = arrays.frames_of(Y, others)
    found = encode(left_out, result.Phi, result.W, scale=result.scale, **how)
    H[:, arrays.indices(others, H)] = found.H
    return replace(result, H=H)
