"""One run of Algorithm 1: Φ, W, what the solver remembers, and the frames and atoms in use.

The engine holds what has an axis of frames: X = ΦY and the activations. Invariants:

* Between two outer iterations `iterate` is complete, also after an interrupt: it is replaced in one
  assignment, and only by an iterate whose objective is finite.
* `iterate` has the atoms and the precision of `stage`; its activations are those of the frames in
  use.
* If X = ΦY to the last bit (`is_whole`), a run that is resumed from a snapshot gives the same bits.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from phinmf._types import Array, Precision
from phinmf.algorithm.model import Iterate, Model, Sample, draw
from phinmf.algorithm.options import Options
from phinmf.algorithm.schedule import Phase, Schedule, Stage
from phinmf.algorithm.subspace import Subspace
from phinmf.arrays import cast, namespace
from phinmf.engines import Objective
from phinmf.linalg.manifold import polish, skew
from phinmf.result import History, Row, Status
from phinmf.solvers import Descent
from phinmf.solvers.base import Memory

REFRESH = 5  #: outer iterations after which Φ is made orthogonal again and X computed from it
MORE_NMF_STEPS = 3  #: factor while the floor is high: steps on few frames are cheap and pay off


class Outcome(NamedTuple):
    """How a run ended: an iterate on all frames at the target floor, its cost there, and why."""

    iterate: Iterate
    divergence: float
    penalty: float
    history: History
    status: Status

    @property
    def objective(self) -> float:
        """C of (2)."""
        return self.divergence + self.penalty


class Snapshot(NamedTuple):
    """The state of a run between two outer iterations, as a checkpoint holds it; not its start."""

    history: History
    iterate: Iterate  #: of the atoms and the frames in use
    memory: dict[str, Any]  #: of the solver, as the values of its table
    stage: Stage
    sample: Sample | None  #: the frames in use; None: all
    basis: Array | None = None  #: (M, M), of the subspace, if only some atoms are in use


class Run:
    """One fit in progress, and the parts of its outer iterations."""

    phase: Phase  #: the floor of this outer iteration, and what it computes with
    bound: float  #: the objective that this outer iteration must not exceed, if it is known

    def __init__(
        self,
        model: Model,
        options: Options,
        schedule: Schedule,
        start: Iterate,
        rng: np.random.Generator,
        subspace: Subspace | None = None,
    ) -> None:
        """Go to the start. `rng` draws the sample of frames, if the schedule asks for one."""
        self.whole = self.model = model  #: on all frames, and on the frames in use
        self.options, self.schedule, self.subspace = options, schedule, subspace
        self.rng = rng
        self.stage = Stage(model.engine.dtype)
        self.sample: Sample | None = None  #: the frames in use; None: all
        self.memory: Memory = None  #: of the solver
        self.start = start  #: no result is worse than this
        self.iterate = model.restore(start, options.floor)
        self.history = History(sum(model.costs(start.W, options.floor)))
        self.began = time.perf_counter()  #: or longer ago, if the run was resumed

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, window length and number of all frames."""
        return self.whole.engine.shape

    @property
    def dtype(self) -> Precision:
        """The precision of the data."""
        return self.whole.engine.dtype

    def seconds(self) -> float:
        """Return the seconds since the run began, including those before it was resumed."""
        return time.perf_counter() - self.began

    def time_is_up(self) -> bool:
        """Whether `max_time` has passed."""
        return self.options.max_time is not None and self.seconds() >= self.options.max_time

    # the parts of an outer iteration

    def begin_iteration(self, t: int) -> None:
        """Set the floor of outer iteration t, and the frames, the atoms and the precision."""
        phase, before = self.schedule.phase(t, self.seconds()), self.stage
        stage = phase.stage
        if stage != before:
            n, weights = stage.n_frames, self.whole.engine.weights
            self.sample = None if n is None else draw(weights, n, self.rng)
            iterate = self.with_atoms(stage.n_atoms)
            self.model = self.whole.subset(self.sample, stage.dtype, self.basis(stage.n_atoms))
            self.iterate, self.stage = self.model.restore(iterate, phase.floor), stage
        self.phase = phase
        self.bound = self.objective_before(stage.same_terms(before))
        rows, solver = self.history.rows, self.options.solver
        jumps = phase.final and bool(rows) and rows[-1].floor != phase.floor
        if jumps and solver is not None:
            self.memory = solver.forget(self.memory)

    def objective_before(self, same_terms: bool) -> float:
        """Return the objective before this outer iteration, or infinity if it is not known.

        It is not if the frames or the atoms in use have changed, or if the floor has, unless it has
        just reached the target. The start is over all frames and atoms at the target floor.
        """
        rows, final = self.history.rows, self.phase.final
        if not rows:
            return self.history.start if final and self.stage.n_atoms is None else np.inf
        if not same_terms:
            return np.inf
        if rows[-1].floor == self.phase.floor:
            return rows[-1].objective
        return rows[-1].target_objective if final else np.inf

    def nmf_step(self) -> Array:
        """Update H in the engine and return W, by step ⋆: once, then while there is time."""
        n_iter = self.options.method.n_iter_nmf * (MORE_NMF_STEPS if self.phase.high else 1)
        exponent, floor = self.options.nmf_exponent, self.phase.floor
        return self.model.nmf(self.iterate.W, floor, exponent, n_iter, self.time_is_up)

    def objective(self, W: Array) -> Objective:
        """Return L(Φ) of (3) at the floor in use, whose V̂ = WH is fixed from now on."""
        objective = self.model.objective(W, self.phase.floor)
        objective.out_of_time = self.time_is_up
        return objective

    def update_transform(self, objective: Objective) -> Descent:
        """Φ ← A(V̂, Y, Φ, L); without a solver, only evaluate the loss."""
        Phi, solver = self.iterate.Phi, self.options.solver
        if solver is None:
            no_gradient = namespace(Phi).full_like(Phi[:1, :1], np.nan)
            return Descent(Phi, objective.loss(), no_gradient)
        self.model.rotated = None
        return solver.update(Phi, objective, self.options.method.n_iter_transform, self.memory)

    def end_iteration(self, t: int, W: Array, descent: Descent, evaluations: int) -> bool:
        """Replace the iterate and add a row to the history, unless the objective is not finite.

        Every few iterations Φ is made orthogonal again and X = ΦY computed, so that rounding does
        not build up.
        """
        penalty = self.model.penalty_of(W)
        if not np.isfinite(descent.loss + penalty):
            return False
        H = self.model.engine.lazy_activations()
        self.iterate, self.memory = Iterate(descent.Phi, W, H), descent.memory
        if t % REFRESH == REFRESH - 1 and self.options.solver is not None:
            Phi = polish(self.iterate.Phi, self.model.engine.algebra)
            self.model.rotate(Phi)
            self.iterate = replace(self.iterate, Phi=Phi)
        self.history.rows.append(self.measured(W, descent, penalty, evaluations))
        return True

    def measured(self, W: Array, descent: Descent, penalty: float, evaluations: int) -> Row:
        """Return the row of an outer iteration with this number of evaluations."""
        rows = self.history.rows
        objective = target = descent.loss + penalty
        if self.stage.n_atoms != self.schedule.n_atoms:  # the start is over all atoms
            target = self.history.start
        elif not self.phase.final:
            target = self.model.objective(W, self.options.floor).loss() + penalty
        _, n_atoms, n_frames = self.model.engine.shape
        return Row(
            objective=objective,
            divergence=descent.loss,
            penalty=penalty,
            target_objective=target,
            gradient=float(namespace(descent.G).linalg.norm(skew(descent.G))),
            steps=tuple(descent.steps),
            search_failed=descent.failed,
            evaluations=evaluations + (rows[-1].evaluations if rows else 0),
            frames=n_frames,
            atoms=n_atoms,
            seconds=self.seconds(),
            floor=self.phase.floor,
        )

    # the subspace of few atoms

    def basis(self, n_atoms: int | None) -> Array | None:
        """Return the first atoms (P, M) of the subspace; None stands for all atoms."""
        if n_atoms is None or self.subspace is None:
            return None
        return self.subspace.basis[:n_atoms]

    def with_atoms(self, n_atoms: int | None) -> Iterate:
        """Return the iterate with another number of atoms (None: all)."""
        P, solver = n_atoms or self.shape[1], self.options.solver
        before = len(self.iterate.Phi)
        if before == P or self.subspace is None:
            return self.iterate
        iterate = self.subspace.with_atoms(
            self.iterate, P, keeps_scale=self.whole.fixed.H is not None
        )
        if solver is not None:
            grows = before < P  # not at the start, nor if a run is resumed with a longer schedule
            self.memory = solver.grown(self.memory, P, iterate.Phi) if grows else None
        return iterate

    def iterate_of_all_atoms(self) -> Iterate:
        """Return the last complete iterate with all M atoms, also after an interrupt."""
        if len(self.iterate.Phi) == self.shape[1] or self.subspace is None:
            return self.iterate
        keeps_scale = self.whole.fixed.H is not None
        iterate = self.subspace.with_atoms(self.iterate, self.shape[1], keeps_scale)
        return replace(iterate, Phi=cast(iterate.Phi, self.dtype))

    # snapshots, and the end

    @property
    def is_whole(self) -> bool:
        """Whether X = ΦY to the last bit, so that Φ, W and H are the whole state."""
        return self.model.rotated is self.iterate.Phi

    def snapshot(self) -> Snapshot:
        """Return the complete state, if the run `is_whole`."""
        solver = self.options.solver
        memory = {} if solver is None else solver.pack(self.memory)
        basis = None
        if self.stage.n_atoms is not None and self.subspace is not None:
            basis = self.subspace.basis
        return Snapshot(self.history, self.iterate, memory, self.stage, self.sample, basis)

    def resume(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot of a run that had the same start."""
        self.history, self.iterate = snapshot.history, snapshot.iterate
        self.stage, self.sample = snapshot.stage, snapshot.sample
        if snapshot.basis is not None and self.subspace is not None:
            self.subspace = replace(self.subspace, basis=snapshot.basis)
        if self.options.solver is not None:
            self.memory = self.options.solver.unpack(snapshot.memory, self.iterate.Phi)
        self.model = self.whole.subset(
            self.sample, self.stage.dtype, self.basis(self.stage.n_atoms)
        )
        self.model.go_to(self.iterate)
        rows = self.history.rows
        self.began = time.perf_counter() - (rows[-1].seconds if rows else 0.0)

    def evaluate(self, iterate: Iterate, n_iter_nmf: int, status: Status) -> Outcome:
        """Evaluate an iterate on all frames at the target floor, after some NMF steps there."""
        whole, floor = self.whole, self.options.floor
        iterate = whole.restore(iterate, floor)
        W = whole.nmf(iterate.W, floor, self.options.nmf_exponent, n_iter_nmf)
        costs = whole.costs(W, floor)
        iterate = Iterate(iterate.Phi, W, whole.engine.activations())
        return Outcome(iterate, *costs, self.history, status)
