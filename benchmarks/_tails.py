"""Prototypes: what becomes of the atoms that `n_atoms` leaves out, while the others are learned.

The package leaves their rows of X out of the NMF steps and gives them their rows of W at the end.
Here the NMF steps see them as well: each as it is, or all of them as their mean power ("pooled").
Everything else is Algorithm 1 of the package, on its compiled engine.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np

from phinmf import checks
from phinmf.algorithm import alternate
from phinmf.algorithm.model import Iterate, Model
from phinmf.algorithm.options import Options
from phinmf.algorithm.run import Run
from phinmf.algorithm.subspace import scaled
from phinmf.engines.compiled.engine import CompiledEngine
from phinmf.fit.problem import problem_of
from phinmf.result import Row
from phinmf.solvers import Descent


class AsTheyAre(Run):
    """The NMF steps see all M rows of X; the transform is learned on the first P of them."""

    R: np.ndarray | None = None  #: what the NMF steps see of the other rows, (C, N, M - P)

    def begin_iteration(self, t: int) -> None:
        """Take the other rows, too, if the frames, the atoms or the precision change."""
        before = self.stage
        if self.R is not None:
            self.subspace = replace(self.subspace, W=self.all_rows())
        super().begin_iteration(t)
        if self.stage != before:
            P, M = len(self.iterate.Phi), self.shape[1]
            W, H = scaled(self.subspace.with_rows(self.iterate, M), self.iterate.H, False)
            self.model.engine.set_activations(H)
            self.iterate = Iterate(self.iterate.Phi, W[:P], H)
            rows = self.whole.subset(self.sample, self.stage.dtype, self.subspace.basis[P:])
            self.R, self.W_of_R = self.seen(rows.engine.frames.Y), self.shared(W[P:])

    def seen(self, R: np.ndarray) -> np.ndarray:
        """Return what is seen of the other rows."""
        return R

    def shared(self, W: np.ndarray) -> np.ndarray:
        """W in these rows."""
        return W

    def all_rows(self) -> np.ndarray:
        """W in all rows."""
        return np.concatenate([self.iterate.W, self.W_of_R])

    def seeing(self) -> Model:
        """The model of all rows that are seen."""
        here = self.model.engine
        X = np.concatenate([here.frames.Y @ self.iterate.Phi.T, self.R], axis=2).transpose(0, 2, 1)
        engine = CompiledEngine(X, here.divergence, weights=here.weights, workers=here.workers)
        engine.set_activations(here.activations())
        return Model(engine, self.model.penalty)

    def nmf_step(self) -> np.ndarray:
        """Update H and all rows of W; return those of the atoms that are learned."""
        own, P = self.model, len(self.iterate.W)
        iterate, self.model = self.iterate, self.seeing()
        self.iterate = replace(iterate, W=np.concatenate([iterate.W, self.W_of_R]))
        W = super().nmf_step()
        own.engine.set_activations(self.model.engine.activations())
        self.model, self.iterate = own, iterate
        self.W_of_R = W[P:]
        return W[:P]

    def measured(self, W: np.ndarray, descent: Descent, penalty: float, evaluations: int) -> Row:
        """Add the cost of the other rows: without it the objective could rise."""
        row, model = super().measured(W, descent, penalty, evaluations), self.seeing()
        W = np.concatenate([W, self.W_of_R])
        divergence, penalty = model.costs(W, self.phase.floor)
        target = model.cost(W, self.options.floor)
        return row._replace(
            objective=divergence + penalty, divergence=divergence, penalty=penalty,
            target_objective=target,
        )  # fmt: skip

    def iterate_of_all_atoms(self) -> Iterate:
        """Return all rows of Φ and W."""
        self.subspace = replace(self.subspace, W=self.all_rows())
        return super().iterate_of_all_atoms()


class Pooled(AsTheyAre):
    """The NMF steps see one row instead of the others: their mean power, counted M - P times.

    To be exact without new formulas, that row and its row of W are repeated M - P times; this
    takes the time of M rows, where one row with a factor would take that of P + 1.
    """

    def seen(self, R: np.ndarray) -> np.ndarray:
        """Return the root of the mean power, M - P times."""
        pooled = np.sqrt(np.mean(R**2, axis=2, keepdims=True))
        return np.repeat(pooled, R.shape[2], axis=2)

    def shared(self, W: np.ndarray) -> np.ndarray:
        """Return the mean row, M - P times."""
        return np.repeat(np.mean(W, axis=0, keepdims=True), len(W), axis=0)

    def all_rows(self) -> np.ndarray:
        """Return W in all rows: the shared row in proportion to the power of each atom."""
        powers = self.subspace.powers[len(self.iterate.W) :]
        share = (powers / max(powers.mean(), 1e-300)).astype(self.W_of_R.dtype)
        return np.concatenate([self.iterate.W, share[:, None] * self.W_of_R])


WAYS: dict[str, type[Run]] = {
    "left out, added at the end (the package)": Run,
    "as they are": AsTheyAre,
    "pooled": Pooled,
}


@dataclass(frozen=True)
class Learned:
    """The transform, what learning it took, and the objective after so many last NMF steps."""

    Phi: np.ndarray
    processor: float  #: seconds, over all threads
    objectives: dict[int, float]


def learned(
    Y: np.ndarray, way: type[Run], last_steps: Sequence[int], seed: int, **how: Any
) -> Learned:
    """Learn with one of the ways, then make NMF steps on all rows at the target floor."""
    problem = problem_of(Y[None], 10, Options(**how))
    options, data = problem.options, problem.data
    with CompiledEngine(data.Y, problem.options.divergence, None, data.weights) as engine:
        model, made = Model(engine, options.penalty), min(last_steps)
        rng_Phi, rng_W, rng_sample = checks.generators(seed, 3)
        start = problem.start(rng_Phi, rng_W, engine.powers())
        run = way(model, options, problem.schedule, start, rng_sample, problem.subspace)
        with patch.object(alternate, "LAST_STEPS_OF_FEW", made):
            before = time.process_time()
            outcome = alternate.alternate(run)
            processor = time.process_time() - before
        W, objectives = model.restore(outcome.iterate, options.floor).W, {}
        for steps in sorted(last_steps):
            W = model.nmf(W, options.floor, options.nmf_exponent, steps - made)
            objectives[steps], made = model.cost(W, options.floor), steps
    return Learned(outcome.iterate.Phi, processor, objectives)
