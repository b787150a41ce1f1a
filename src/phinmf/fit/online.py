"""Learning from frames that arrive in blocks, in constant memory.

A window holds a random sample of the frames so far, in which recent ones prevail. When it has its
first frames, and again whenever a quarter of it is new, an annealed fit on the window learns Φ and
W, starting from those before. In between, blocks are only measured. (Updates of W from every block,
and steps of the solver on the window, did not raise the score of frames that were held out.)

* A step depends on the `Learner` before it, its block and the `Plan` alone: not on the clock, nor
  on how frames were divided among calls. So a learner that is saved and continued, which is a
  matter of its arrays and numbers, has the same bits.
* A `Learner` never changes: each step returns another one. So a call that fails leaves the one
  before as it was.
* Every frame gets a random number when it arrives, drawn from Gumbel's distribution, from which
  log(forget factor) is added with each later block; those with the largest numbers stay in the
  window. So frames stay with probabilities that fall by the forget factor with every block.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

import numpy as np

from phinmf import arrays
from phinmf._types import Array, Components, Fixed, Indices, Precision
from phinmf.algorithm.options import Options
from phinmf.arrays.levels import levels
from phinmf.errors import InvalidValue
from phinmf.fit.automatic import AUTO
from phinmf.fit.data import check_scale
from phinmf.fit.encode import Learned, encode
from phinmf.fit.problem import problem_of, warn_unless_converged
from phinmf.inits import Continuation
from phinmf.result import History, Result, Row, State, Status

BLOCKS_TO_BEGIN = 2  #: in the window when the first fit begins
BLOCKS_IN_WINDOW = 32  #: at most
LIFETIMES = 1.6  #: length of the window, as a multiple of 1/(1-forget_factor) blocks
RENEWED = 0.25  #: share of the window that is new when it is fitted again
AGAIN_FROM, AGAIN_LENGTH = 1e-2, 24  #: highest floor and longest schedule of these fits
HISTORY = 10_000  #: number of steps that a history holds: the last ones


@dataclass(frozen=True)
class Plan:
    """How frames are learned from: what may change between two calls."""

    options: Options
    n_components: Components
    W: Array  #: (M, n): the first columns at the start
    fixed: Fixed  #: "W" names columns of the start
    block_size: int
    forget_factor: float

    @property
    def window_size(self) -> int:
        """Maximum number of frames in the window: fewer if they are soon forgotten."""
        blocks = LIFETIMES / max(1 - self.forget_factor, LIFETIMES / BLOCKS_IN_WINDOW)
        return math.ceil(max(blocks, BLOCKS_TO_BEGIN) * self.block_size)


@dataclass(frozen=True, eq=False)
class Learner:
    """Everything that the next step depends on; frames are (1, M, n), in the units of the caller.

    Before the first fit on the window, Φ and W are those of an earlier fit, or have no columns.
    """

    seed: int
    waiting: Array  #: frames that wait until they fill a block
    waiting_weights: Array  #: (n,), on the host
    window: Array  #: frames with sound, in the order of time
    weights: Array  #: (n,): of these frames, all positive, on the host
    keys: Array  #: (n,): their random numbers, on the host
    births: Indices  #: (n,): the step in which each of them arrived, on the host
    Phi: Array  #: (M, M)
    W: Array  #: (M, K)
    fitted_at: int = 0  #: the step of the last fit on the window; 0: there was none
    step: int = 0  #: number of blocks so far; those without sound do not count
    n_frames: int = 0  #: number of frames that have arrived
    energy: float = 0.0  #: Σ y² of the frames with sound, fading
    count: float = 0.0  #: number of their samples, fading
    divergence: float = 0.0  #: sum of what was measured in every step
    penalty: float = 0.0  #: the same
    history: History = field(default_factory=lambda: History(0.0))

    @classmethod
    def of(cls, seed: int, M: int, like: Array, dtype: Precision) -> Learner:
        """Return a learner without frames, whose arrays will be of the kind of another array."""
        frames, numbers = arrays.zeros((1, M, 0), like, dtype), np.zeros(0)
        births, factor = np.zeros(0, int), frames[0]
        return cls(seed, frames, numbers, frames, numbers, numbers, births, factor, factor)

    @property
    def scale(self) -> float:
        """Root mean square of the frames so far, of which recent ones count more."""
        return math.sqrt(self.energy / self.count)

    def state(self) -> State:
        """Return the argument of a callback."""
        objective = self.history[-1].objective
        return State(self.step, objective, self.history, self.Phi, self.W, self.scale)

    def with_frames(self, Y: Array, weights: Array | None) -> Learner:
        """Add frames (1, M, n) and their weights to those that wait, as a copy."""
        n, dtype = Y.shape[2], arrays.dtype_of(self.waiting)
        with np.errstate(over="ignore"):  # refused next
            Y = arrays.cast(arrays.like(Y, self.waiting), dtype)
        xp = arrays.namespace(Y)
        if not bool(xp.all(xp.isfinite(Y))):
            raise InvalidValue(
                f"X has values that {dtype}, the precision of the first frames, cannot hold: scale"
                " them nearer to 1, or give all frames in float64"
            )
        return replace(
            self,
            n_frames=self.n_frames + n,
            waiting=xp.concat([self.waiting, Y], axis=2),
            waiting_weights=np.append(
                self.waiting_weights, np.ones(n) if weights is None else weights
            ),
        )

    def after_block(self, plan: Plan, size: int) -> Learner:
        """Learn from the first frames that wait, at most `size`.

        If there was a fit before, the history gets a row: the cost of the block before anything was
        learned from it. The first row is the cost of the first fit.
        """
        start = time.perf_counter()
        Y, weights = self.waiting[:, :, :size], self.waiting_weights[:size]
        learner = replace(
            self,
            waiting=self.waiting[:, :, size:],
            waiting_weights=self.waiting_weights[size:],
        )
        level = levels(Y)
        loud = np.flatnonzero((arrays.to_numpy(level.largest) > 0) & (weights > 0))
        if not len(loud):
            return learner
        Y, weights = arrays.take_frames(Y, loud), weights[loud]
        energies = arrays.to_numpy(level.energies)[loud]
        learner = learner.with_sample(plan, Y, weights, float(energies @ weights))
        check_scale(learner.scale, level, arrays.dtype_of(Y))
        if self.fitted_at == 0:
            few = len(learner.keys) < BLOCKS_TO_BEGIN * plan.block_size
            return learner if few else learner.after_first_fit(plan, start)
        costs = encode(Y, Learned(self.Phi, self.W, learner.scale, plan.options), weights)
        if (learner.births > learner.fitted_at).mean() >= RENEWED:
            learner, _ = learner.after_fit(plan)
        return learner.with_row(plan, costs.divergence, costs.penalty, len(loud), start)

    def after_all_frames(self, plan: Plan) -> Learner:
        """Learn from the frames that wait, too, even if there are few; from silence nothing."""
        n, start = len(self.waiting_weights), time.perf_counter()
        learner = self.after_block(plan, n) if n else self
        if learner.fitted_at or not len(learner.keys):
            return learner
        return learner.after_first_fit(plan, start)

    def after_first_fit(self, plan: Plan, start: float) -> Learner:
        """Learn Φ and W from the window for the first time, in a step that began at a time."""
        learner, result = self.after_fit(plan)
        return learner.with_row(plan, result.divergence, result.penalty, len(self.keys), start)

    def with_sample(self, plan: Plan, Y: Array, weights: Array, energy: float) -> Learner:
        """Add the frames of a step to the window, and forget a part of those before."""
        step, total = self.step + 1, float(weights.sum())
        blocks = total / plan.block_size
        fade = plan.forget_factor**blocks
        numbers = np.random.default_rng([self.seed, step]).gumbel(size=len(weights))
        keys = np.append(self.keys + blocks * math.log(plan.forget_factor), numbers)
        largest = np.sort(np.argsort(-keys, kind="stable")[: plan.window_size])
        frames = arrays.namespace(Y).concat([self.window, Y], axis=2)
        return replace(
            self,
            step=step,
            energy=fade * self.energy + energy,
            count=fade * self.count + total * Y.shape[1],
            window=arrays.take_frames(frames, largest),
            weights=np.append(self.weights, weights)[largest],
            keys=keys[largest],
            births=np.append(self.births, np.full(len(weights), step))[largest],
        )

    def after_fit(self, plan: Plan) -> tuple[Learner, Result]:
        """Fit the window with Algorithm 1, from the factors before if there are any."""
        options, n_components, W = plan.options, plan.n_components, plan.W
        if self.W.shape[1]:
            options, n_components, W = continuation(options, self.Phi), self.W.shape[1], self.W
        problem = problem_of(
            self.window,
            n_components,
            options,
            W=None if n_components == AUTO and not W.shape[1] else W,
            fixed=plan.fixed,
            sample_weight=self.weights,
        )
        result = problem.fit(self.seed)
        warn_unless_converged(result.status, tol=0)
        if result.status is Status.INTERRUPTED or result.W is None:
            raise KeyboardInterrupt
        return replace(self, Phi=result.Phi, W=result.W, fitted_at=self.step), result

    def with_row(
        self, plan: Plan, divergence: float, penalty: float, n_frames: int, start: float
    ) -> Learner:
        """Add what a step measured in a number of frames; it began at a time of the clock."""
        objective, rows = divergence + penalty, self.history.rows
        row = Row(
            objective=objective,
            divergence=divergence,
            penalty=penalty,
            target_objective=objective,
            gradient=math.nan,
            steps=(),
            search_failed=False,
            evaluations=0,
            frames=n_frames,
            atoms=self.window.shape[1],
            seconds=(rows[-1].seconds if rows else 0.0) + time.perf_counter() - start,
            floor=plan.options.floor,
        )
        history = History(self.history.start if rows else objective)
        history.rows = [*rows, row][-HISTORY:]
        return replace(
            self,
            divergence=self.divergence + divergence,
            penalty=self.penalty + penalty,
            history=history,
        )


def continuation(options: Options, Phi: Array) -> Options:
    """Return the options of a fit that continues from a transform."""
    if (anneal := options.anneal) is not None:
        start, length = min(anneal.start, AGAIN_FROM), min(anneal.length, AGAIN_LENGTH)
        options = options.with_anneal(replace(anneal, start=start, length=length))
    return replace(options, init=Continuation(Phi))
