"""A group of one restart, on any engine and with any solver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from phinmf._types import Array
from phinmf.algorithm.annealing import Phase
from phinmf.algorithm.group import Final, Group, Measured, Position, Restart, Stage, stage_of
from phinmf.algorithm.model import Iterate, Model, Sample, draw
from phinmf.algorithm.options import Options
from phinmf.algorithm.subspace import Subspace
from phinmf.arrays import cast, namespace
from phinmf.engines import Objective
from phinmf.engines.base import OutOfTime
from phinmf.linalg.manifold import polish, skew
from phinmf.solvers import Descent


class Single(Group):
    """One restart: its iterate, the memory of its solver, and the frames in use."""

    def __init__(self, model: Model, options: Options, subspace: Subspace | None = None) -> None:
        self.whole = self.here = model  #: on all frames, and on the frames in use
        self.options, self.subspace = options, subspace
        self.shape, self.dtype = model.engine.shape, model.engine.dtype
        self.stage = Stage(None, self.dtype)
        self.total_weight = float(model.engine.weights.sum())
        self.running = [0]
        self.sample: Sample | None = None
        self.memory: Any = None

    def begin(self, restarts: Sequence[Restart]) -> list[float]:
        (self.restart,) = restarts
        start, at = self.restart.start, self.restart.resumed
        if at is None:
            self.last = self.whole.restore(start, self.options.floor)
            return [self.whole.cost(start.W, self.options.floor)]
        self.last, memory, self.sample, self.stage, basis = at.position
        if basis is not None:
            assert self.subspace is not None
            self.subspace = replace(self.subspace, basis=basis)
        if self.options.solver is not None:
            self.memory = self.options.solver.unpack(dict(memory), self.last.Phi)
        atoms = self.leading(self.stage.n_atoms)
        self.here = self.whole.subset(self.sample, self.stage.dtype, atoms)
        self.here.go_to(self.last)
        return [at.history.start]

    def open(self, phase: Phase) -> None:
        self.phase = phase
        wanted = stage_of(phase, self.dtype)
        if self.whole.V_hat is not None:  # G_ii is a sum of N terms of order 1
            self.full_gradient = self.total_weight * (wanted.n_atoms or self.shape[1]) ** 0.5
        if self.stage != wanted:
            n = wanted.n_frames
            weights = self.whole.engine.weights
            self.sample = None if n is None else draw(weights, n, self.restart.rng)
            at = self.with_atoms(wanted.n_atoms)
            self.here = self.whole.subset(self.sample, wanted.dtype, self.leading(wanted.n_atoms))
            self.last, self.stage = self.here.restore(at, phase.floor), wanted

    def leading(self, n_atoms: int | None) -> Array | None:
        """Return the first atoms of the subspace; None stands for all."""
        if n_atoms is None:
            return None
        assert self.subspace is not None
        return self.subspace.basis[:n_atoms]

    def with_atoms(self, wanted: int | None) -> Iterate:
        """Return the iterate with another number of atoms (None: all)."""
        P, solver = wanted or self.shape[1], self.options.solver
        before = len(self.last.Phi)
        if before == P:
            return self.last
        assert self.subspace is not None
        at = self.subspace.with_atoms(self.last, P, keeps_scale=self.whole.kept.H is not None)
        if solver is not None:
            grows = before < P  # not at the start, nor if a run is resumed with a longer schedule
            memory = self.memory
            self.memory = solver.grown(memory, P, at.Phi) if grows else solver.forget(memory)
        return at

    def forget(self) -> None:
        if self.options.solver is not None:
            self.memory = self.options.solver.forget(self.memory)

    def nmf(self, n_iter: int, out_of_time: OutOfTime) -> None:
        exponent = self.options.nmf_exponent
        self.W = self.here.nmf(self.last.W, self.phase.floor, exponent, n_iter, out_of_time)

    def descend(self, n_iter: int, out_of_time: OutOfTime) -> None:
        objective = self.here.objective(self.W, self.phase.floor)
        objective.out_of_time = out_of_time
        if self.options.solver is not None:
            self.here.rotated = None
        self.step = self.update(self.last.Phi, objective, n_iter)
        self.evaluations = objective.evaluations
        self.penalty = self.here.penalty_of(self.W)
        if np.isfinite(self.step.loss + self.penalty):  # else the iterate before is the last one
            H = self.here.engine.hold_activations()
            self.last, self.memory = Iterate(self.step.Phi, self.W, H), self.step.memory

    def update(self, Phi: Array, objective: Objective, n_iter: int) -> Descent:
        """Update Φ by the solver; without one, only evaluate the loss."""
        if self.options.solver is None:
            unknown = namespace(Phi).full_like(Phi[:1, :1], np.nan)
            return Descent(Phi, objective.loss(), unknown)
        return self.options.solver.update(Phi, objective, n_iter, self.memory)

    def refresh(self) -> None:
        if self.options.solver is not None:
            Phi = polish(self.last.Phi, self.here.engine.algebra)
            self.here.rotate(Phi)
            self.last = replace(self.last, Phi=Phi)

    def measure(self) -> list[Measured]:
        here, step, penalty = self.here, self.step, self.penalty
        cost = step.loss + penalty
        target = cost
        if not self.phase.at_target:
            target = here.objective(self.W, self.options.floor).loss() + penalty
        gradient = float(namespace(step.G).linalg.norm(skew(step.G)))
        _, n_atoms, n_frames = here.engine.shape
        return [
            Measured(
                step.loss, penalty, target, gradient, tuple(step.steps), step.failed,
                self.evaluations, n_frames, n_atoms,
            )
        ]  # fmt: skip

    def iterate(self, number: int) -> Iterate:
        if len(self.last.Phi) == self.shape[1]:
            return self.last
        assert self.subspace is not None
        at = self.subspace.complete(self.last, keeps_scale=self.whole.kept.H is not None)
        return replace(at, Phi=cast(at.Phi, self.dtype))

    def position(self, number: int) -> Position:
        solver = self.options.solver
        memory = {} if solver is None else solver.pack(self.memory)
        basis = None
        if self.stage.n_atoms is not None:
            assert self.subspace is not None
            basis = self.subspace.basis
        return Position(self.last, memory, self.sample, self.stage, basis)

    def fits(self, memory: Mapping[str, Array], n_atoms: int) -> bool:
        solver = self.options.solver
        return not memory if solver is None else solver.fits(dict(memory), n_atoms)

    def drop(self, ended: Sequence[int]) -> None:
        self.running = [number for number in self.running if number not in ended]

    def close(self) -> None:
        self.here = self.whole

    def finish(self, iterates: Sequence[Iterate], n_iter_nmf: int) -> list[Final]:
        (origin,), whole, floor = iterates, self.whole, self.options.floor
        at = whole.restore(origin, floor)
        W = whole.nmf(at.W, floor, self.options.nmf_exponent, n_iter_nmf)
        costs = whole.costs(W, floor)
        return [Final(Iterate(at.Phi, W, whole.engine.activations()), *costs)]
