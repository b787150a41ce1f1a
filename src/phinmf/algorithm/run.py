"""One fit in progress: Φ, W, what the solver remembers, and the frames and atoms in use.

The engine holds what has an axis of frames: X = ΦY and the activations. Between two outer
iterations `last` is complete, also after an interrupt: it is replaced in one assignment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from phinmf._types import Array, Precision
from phinmf.algorithm.annealing import Phase
from phinmf.algorithm.model import Iterate, Model, Sample, draw
from phinmf.algorithm.options import Options
from phinmf.algorithm.restart import Position, Restart, Stage, stage_of
from phinmf.algorithm.subspace import Subspace
from phinmf.arrays import cast, namespace
from phinmf.engines import Objective
from phinmf.engines.base import OutOfTime
from phinmf.linalg.manifold import polish, skew
from phinmf.result import History, Row
from phinmf.solvers import Descent


class Final(NamedTuple):
    """An iterate on all frames at the target floor, and its costs there."""

    iterate: Iterate
    divergence: float
    penalty: float

    @property
    def objective(self) -> float:
        """C of (2)."""
        return self.divergence + self.penalty


class Run:
    """The parts of an outer iteration of Algorithm 1, for one fit on any engine."""

    phase: Phase
    last: Iterate  #: the last complete iterate; of the atoms in use
    rng: np.random.Generator  #: draws the sample of frames
    penalty: float  #: of W and H at the end of the outer iteration

    def __init__(self, model: Model, options: Options, subspace: Subspace | None = None) -> None:
        self.whole = self.model = model  #: on all frames, and on the frames in use
        self.options, self.subspace = options, subspace
        self.stage = Stage(None, self.dtype)
        self.sample: Sample | None = None  #: the frames in use; None: all
        self.memory: Any = None  #: of the solver

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, window length and number of all frames."""
        return self.whole.engine.shape

    @property
    def dtype(self) -> Precision:
        """The precision of the data."""
        return self.whole.engine.dtype

    @property
    def total_weight(self) -> float:
        """The sum of the weights of all frames."""
        return float(self.whole.engine.weights.sum())

    @property
    def full_gradient(self) -> float | None:
        """The scale of the gradient if nothing but Φ is learned: G_ii sums N terms of order 1."""
        if self.whole.V_hat is None:
            return None
        return self.total_weight * (self.stage.n_atoms or self.shape[1]) ** 0.5

    # before the first outer iteration

    def begin(self, restart: Restart) -> History:
        """Go to the start, or to the checkpoint that is continued, and return the history."""
        self.rng, resumed = restart.rng, restart.resumed
        if resumed is None:
            self.last = self.whole.restore(restart.start, self.options.floor)
            return History(self.whole.cost(restart.start.W, self.options.floor))
        self.last, memory, self.sample, self.stage, basis = resumed.position
        if basis is not None:
            assert self.subspace is not None
            self.subspace = replace(self.subspace, basis=basis)
        if self.options.solver is not None:
            self.memory = self.options.solver.unpack(dict(memory), self.last.Phi)
        atoms = self.leading(self.stage.n_atoms)
        self.model = self.whole.subset(self.sample, self.stage.dtype, atoms)
        self.model.go_to(self.last)
        return resumed.history

    # the parts of an outer iteration

    def open(self, phase: Phase) -> None:
        """Take the frames, the atoms, the precision and the floor of an outer iteration."""
        self.phase = phase
        stage = stage_of(phase, self.dtype)
        if self.stage != stage:
            n, weights = stage.n_frames, self.whole.engine.weights
            self.sample = None if n is None else draw(weights, n, self.rng)
            iterate = self.with_atoms(stage.n_atoms)
            self.model = self.whole.subset(self.sample, stage.dtype, self.leading(stage.n_atoms))
            self.last, self.stage = self.model.restore(iterate, phase.floor), stage

    def leading(self, n_atoms: int | None) -> Array | None:
        """Return the first atoms of the subspace; None stands for all."""
        if n_atoms is None:
            return None
        assert self.subspace is not None
        return self.subspace.basis[:n_atoms]

    def with_atoms(self, n_atoms: int | None) -> Iterate:
        """Return the iterate with another number of atoms (None: all)."""
        P, solver = n_atoms or self.shape[1], self.options.solver
        before = len(self.last.Phi)
        if before == P:
            return self.last
        assert self.subspace is not None
        iterate = self.subspace.with_atoms(self.last, P, keeps_scale=self.whole.kept.H is not None)
        if solver is not None:
            grows = before < P  # not at the start, nor if a run is resumed with a longer schedule
            memory = self.memory
            self.memory = solver.grown(memory, P, iterate.Phi) if grows else solver.forget(memory)
        return iterate

    def forget(self) -> None:
        """Let the solver forget what it knows of the objective, which has changed abruptly."""
        if self.options.solver is not None:
            self.memory = self.options.solver.forget(self.memory)

    def nmf(self, n_iter: int, out_of_time: OutOfTime) -> Array:
        """Update H in the engine and return W, by step ⋆: once, then while there is time."""
        exponent = self.options.nmf_exponent
        return self.model.nmf(self.last.W, self.phase.floor, exponent, n_iter, out_of_time)

    def objective(self, W: Array, out_of_time: OutOfTime) -> Objective:
        """Return L(Φ) of (3) at the floor in use, whose V̂ = WH is fixed from now on."""
        objective = self.model.objective(W, self.phase.floor)
        objective.out_of_time = out_of_time
        return objective

    def update(self, W: Array, objective: Objective) -> Descent:
        """Φ ← A(V̂, Y, Φ, L); without a solver, only evaluate the loss."""
        Phi, solver = self.last.Phi, self.options.solver
        if solver is None:
            unknown = namespace(Phi).full_like(Phi[:1, :1], np.nan)
            step = Descent(Phi, objective.loss(), unknown)
        else:
            self.model.rotated = None
            step = solver.update(Phi, objective, self.options.method.n_iter_transform, self.memory)
        self.penalty = self.model.penalty_of(W)
        if np.isfinite(step.loss + self.penalty):  # else the iterate before stays the last one
            H = self.model.engine.hold_activations()
            self.last, self.memory = Iterate(step.Phi, W, H), step.memory
        return step

    def refresh(self) -> None:
        """Make Φ orthogonal again and compute X = ΦY, so that rounding does not build up."""
        if self.options.solver is not None:
            Phi = polish(self.last.Phi, self.model.engine.algebra)
            self.model.rotate(Phi)
            self.last = replace(self.last, Phi=Phi)

    def measure(self, W: Array, step: Descent, evaluations: int) -> Row:
        """Return the row of an outer iteration; seconds are not known yet."""
        penalty = self.penalty
        cost = step.loss + penalty
        target = cost
        if not self.phase.at_target:
            target = self.model.objective(W, self.options.floor).loss() + penalty
        _, n_atoms, n_frames = self.model.engine.shape
        return Row(
            objective=cost,
            divergence=step.loss,
            penalty=penalty,
            target_objective=target,
            gradient=float(namespace(step.G).linalg.norm(skew(step.G))),
            steps=tuple(step.steps),
            search_failed=step.failed,
            evaluations=evaluations,
            frames=n_frames,
            atoms=n_atoms,
            seconds=np.nan,
            floor=self.phase.floor,
        )

    # between two outer iterations, and after the last one

    def iterate(self) -> Iterate:
        """Return the last complete iterate with all atoms, also after an interrupt."""
        if len(self.last.Phi) == self.shape[1]:
            return self.last
        assert self.subspace is not None
        iterate = self.subspace.complete(self.last, keeps_scale=self.whole.kept.H is not None)
        return replace(iterate, Phi=cast(iterate.Phi, self.dtype))

    def position(self) -> Position:
        """Return what a checkpoint holds, while X = ΦY: after `refresh`, or without a solver."""
        solver = self.options.solver
        memory = {} if solver is None else solver.pack(self.memory)
        basis = None
        if self.stage.n_atoms is not None:
            assert self.subspace is not None
            basis = self.subspace.basis
        return Position(self.last, memory, self.sample, self.stage, basis)

    def fits(self, memory: Mapping[str, Array], n_atoms: int) -> bool:
        """Whether arrays of NumPy, read from a file, can be the memory of so many atoms."""
        solver = self.options.solver
        return not memory if solver is None else solver.fits(dict(memory), n_atoms)

    def close(self) -> None:
        """Free the frames that are in use."""
        self.model = self.whole

    def finish(self, iterate: Iterate, n_iter_nmf: int) -> Final:
        """Evaluate an iterate on all frames at the target floor, after some NMF steps there."""
        whole, floor = self.whole, self.options.floor
        iterate = whole.restore(iterate, floor)
        W = whole.nmf(iterate.W, floor, self.options.nmf_exponent, n_iter_nmf)
        costs = whole.costs(W, floor)
        return Final(Iterate(iterate.Phi, W, whole.engine.activations()), *costs)
