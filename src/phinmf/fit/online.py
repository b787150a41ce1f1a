"""Learning from frames that arrive in blocks, in constant memory.

A window holds a random sample of the frames so far, in which recent ones prevail. When it has its
first frames, and again whenever a quarter of it is new, an annealed fit on the window learns Φ and
W, starting from those before. In between, blocks are only measured. (Updates of W from every block,
and steps of the solver on the window, did not raise the score of frames that were held out.)

* A step depends on the `Progress` before it, its block and the seed alone: not on the clock, nor on
  how frames were divided among calls. So a model that is saved and continued has the same bits.
* `Progress` and `OnlineFit` never change. A `Learner` does; it is copied before it learns, so that
  a call that fails leaves the one before as it was.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from phinmf import arrays
from phinmf._types import Array, Components, Indices
from phinmf.algorithm.model import Model
from phinmf.algorithm.nmf import activate, normalise
from phinmf.algorithm.options import Options
from phinmf.engines import engine_for
from phinmf.fit.automatic import AUTO
from phinmf.fit.blocks import Block, Queue, Window
from phinmf.fit.problem import problem_of
from phinmf.fit.scaling import to_scale
from phinmf.inits import Continuation
from phinmf.linalg.manifold import exactly_orthogonal
from phinmf.result import History, Result, Row, State, Status
from phinmf.warn import early_stops

BLOCKS_TO_BEGIN = 2  #: in the window when the first fit begins
BLOCKS_IN_WINDOW = 32  #: at most
LIFETIMES = 1.6  #: length of the window, as a multiple of 1/(1-forget_factor) blocks
RENEWED = 0.25  #: share of the window that is new when it is fitted again
AGAIN_FROM, AGAIN_LENGTH = 1e-2, 24  #: highest floor and longest schedule of these fits
ENCODING_STEPS = 10  #: updates of the activations of a new block before it is measured
HISTORY = 10_000  #: number of steps that a history holds: the last ones


@dataclass(frozen=True)
class Factors:
    """The transform and the components after a fit on the window."""

    Phi: Array  #: (M, M)
    W: Array  #: (M, K), double precision, columns of sum 1
    fitted_at: int  #: the step of that fit


@dataclass(frozen=True)
class Progress:
    """Everything that the next step depends on."""

    step: int = 0  #: number of blocks so far; those without sound do not count
    n_frames: int = 0  #: number of frames in them; silent ones do not count
    clock: float = 0.0  #: their weight, in blocks
    energy: float = 0.0  #: Σ y² of these frames, fading
    count: float = 0.0  #: number of their samples, fading
    window: Window | None = None  #: None before the first frame
    factors: Factors | None = None  #: None before the first fit
    divergence: float = 0.0  #: sum of what was measured in every step
    penalty: float = 0.0  #: the same
    evaluations: int = 0  #: of loss and gradient

    @property
    def scale(self) -> float:
        """Root mean square of the frames so far, of which recent ones count more."""
        return math.sqrt(self.energy / self.count)


@dataclass(frozen=True)
class OnlineFit:
    """How frames are learned from, block by block."""

    options: Options
    n_components: Components
    block_size: int
    forget_factor: float
    seed: int
    W: Array  #: (M, n): the first columns at the start
    fixes_Phi: bool = False
    columns: Indices | None = None  #: of W that stay

    @property
    def continues_fit(self) -> bool:
        """Whether it starts from what `fit` has learned, which stays until the first step."""
        return isinstance(self.options.init, Continuation)

    @property
    def window_size(self) -> int:
        """Maximum number of frames in the window: fewer if they are soon forgotten."""
        blocks = LIFETIMES / max(1 - self.forget_factor, LIFETIMES / BLOCKS_IN_WINDOW)
        return math.ceil(max(blocks, BLOCKS_TO_BEGIN) * self.block_size)

    def step(self, before: Progress, block: Block) -> tuple[Progress, Row | None]:
        """Learn from a block; return a row of the history, except before the first fit.

        What the row measures is the cost of the block before anything was learned from it.
        """
        blocks = block.total / self.block_size
        fade = self.forget_factor**blocks
        C, M, n = block.Y.shape
        step, clock = before.step + 1, before.clock + blocks
        window = Window.of(block, step, clock, self.forget_factor, self.seed)
        if before.window is not None:
            window = before.window.plus(window, self.window_size)
        after = replace(
            before,
            step=step,
            n_frames=before.n_frames + n,
            clock=clock,
            energy=fade * before.energy + block.energy,
            count=fade * before.count + block.total * C * M,
            window=window,
        )
        block.check_scale(after.scale)
        factors = before.factors
        if factors is None:
            few = after.n_frames < BLOCKS_TO_BEGIN * self.block_size
            return (after, None) if few else self.begin(after, window)
        costs, result = self.costs(factors, after.scale, block), None
        if window.share_since(factors.fitted_at) >= RENEWED:
            factors, result = self.fit(factors, window, step)
        return self.recorded(replace(after, factors=factors), *costs, n, result)

    def begin(self, before: Progress, window: Window) -> tuple[Progress, Row]:
        """Learn Φ and W from the first frames, as `tl_nmf` does."""
        factors, result = self.fit(None, window, before.step)
        after = replace(before, factors=factors)
        return self.recorded(after, result.divergence, result.penalty, after.n_frames, result)

    def costs(self, factors: Factors, scale: float, block: Block) -> tuple[float, float]:
        """Return the divergence and the penalty of a block."""
        o, Y = self.options, to_scale(block.Y, 0, scale)
        with engine_for(o.engine, Y, o.divergence, o.n_threads, block.weights) as engine:
            W = arrays.cast(factors.W, engine.dtype)
            engine.rotate(factors.Phi)
            activate(engine, W, o.penalty, o.floor, ENCODING_STEPS)
            return Model(engine, o.penalty).costs(W, o.floor)

    def fit(self, before: Factors | None, window: Window, step: int) -> tuple[Factors, Result]:
        """Fit the window with Algorithm 1, from the factors before if there are any."""
        options, W, n_components = self.options, self.W, self.n_components
        if before is not None:
            options, W = continuation(options, before.Phi), before.W
            n_components = W.shape[1]
        problem = problem_of(
            window.Y,
            n_components,
            options,
            W=None if n_components == AUTO and not W.shape[1] else W,
            fixed={"Phi": self.fixes_Phi, "W": False if self.columns is None else self.columns},
            sample_weight=window.weights,
        )
        with early_stops():
            result = problem.fit(self.seed)
        if result.status is Status.INTERRUPTED or result.W is None:
            raise KeyboardInterrupt
        W, _ = normalise(arrays.cast(result.W, np.float64))
        return Factors(result.Phi, W, step), result

    def recorded(
        self,
        before: Progress,
        divergence: float,
        penalty: float,
        n_frames: int,
        result: Result | None,
    ) -> tuple[Progress, Row]:
        """Add what was measured in a step, and return its row of the history.

        Gradient, steps and search are those of the last iteration of a fit, if the step made one.
        """
        last = result.history[-1] if result is not None and len(result.history) else None
        after = replace(
            before,
            divergence=before.divergence + divergence,
            penalty=before.penalty + penalty,
            evaluations=before.evaluations + (last.evaluations if last else 0),
        )
        return after, Row(
            objective=divergence + penalty,
            divergence=divergence,
            penalty=penalty,
            target_objective=divergence + penalty,
            gradient=last.gradient if last else math.nan,
            steps=last.steps if last else (),
            search_failed=bool(last and last.search_failed),
            evaluations=after.evaluations,
            frames=n_frames,
            atoms=self.W.shape[0],
            seconds=math.nan,  # `Learner` has the clock
            floor=self.options.floor,
        )


def continuation(options: Options, Phi: Array) -> Options:
    """Return the options of a fit that continues from a transform."""
    if (anneal := options.anneal) is not None:
        start, length = min(anneal.start, AGAIN_FROM), min(anneal.length, AGAIN_LENGTH)
        options = options.with_anneal(replace(anneal, start=start, length=length))
    return replace(options, init=Continuation(Phi))


def options_of_windows(options: Options, fixes_Phi: bool) -> Options:
    """Return the options of fits on a window: on a limit of time their bits would depend."""
    for what, needs_all_frames in {
        f"n_atoms is {options.n_atoms}": options.n_atoms is not None,
        f"smoothness is {options.smoothness:g}": bool(options.smoothness),
        "floor is 0": options.floor == 0,
        "engine is 'dask'": options.engine == "dask",
    }.items():
        if needs_all_frames:
            raise ValueError(f"{what}, which needs all frames at once: use fit, or the default")
    options = options.keeping_Phi() if fixes_Phi else options
    return replace(options, max_time=None)


@dataclass
class Learner:
    """What was learned from the frames so far, and the frames that wait until they fill a block."""

    fit: OnlineFit
    example: Array  #: (1, M, 1): frames of later calls are converted to its type and device
    lasting: tuple[str, ...]  #: parameters that must not change any more, as texts
    progress: Progress = field(default_factory=Progress)
    history: History = field(default_factory=lambda: History(0.0))
    seconds: float = 0.0  #: spent on learning; waiting for frames does not count
    queue: Queue = field(default_factory=Queue)  #: less than a block
    n_seen: int = 0  #: number of frames that have arrived
    n_tried: int = 0  #: the same at the last fit that had fewer frames than a first fit needs

    def copied(self) -> Learner:
        """Return a copy that can learn without changing this one."""
        return replace(self, history=self.history.copied(), queue=Queue(self.queue.parts))

    def feed(self, Y: Array, weights: Array | None, watch: Callable[[Learner], object]) -> bool:
        """Learn from frames (C, M, n) as far as they fill blocks; return whether they do."""
        self.queue.put(Y, weights)
        self.n_seen += Y.shape[2]
        learned = False
        while self.queue.n_frames >= self.fit.block_size:
            if self.learn_from(self.fit.block_size):
                learned = True
                watch(self)
        return learned

    def learn_from(self, n_frames: int) -> bool:
        """Learn from the first frames that wait; return whether the history has a new row."""
        block = Block.of(*self.queue.take(n_frames))
        return block is not None and self.record(lambda: self.fit.step(self.progress, block))

    def with_all_frames(self) -> Learner | None:
        """Return a learner that has also learned from the frames that wait; None of silence."""
        ahead = self.copied()
        if n := ahead.queue.n_frames:
            ahead.learn_from(n)
        progress, window = ahead.progress, ahead.progress.window
        if window is None:
            return None
        if progress.factors is None:
            ahead.record(lambda: ahead.fit.begin(progress, window))
        return ahead

    def record(self, step: Callable[[], tuple[Progress, Row | None]]) -> bool:
        """Make a step, and add its row to the history, which holds the last ones."""
        start = time.perf_counter()
        self.progress, row = step()
        self.seconds += time.perf_counter() - start
        if row is None:
            return False
        if not len(self.history):
            self.history.start = row.objective
        self.history.rows.append(row._replace(seconds=self.seconds))
        del self.history.rows[:-HISTORY]
        return True

    def state(self, factors: Factors) -> State:
        """Return the argument of a callback: Φ and W in the precision of the frames.

        Fixed columns of W are exactly those of the start.
        """
        W, columns, dtype = factors.W, self.fit.columns, arrays.dtype_of(self.example)
        if columns is not None:
            W = arrays.copied(W)
            W[:, columns] = self.fit.W[:, columns]
        Phi, W = exactly_orthogonal(factors.Phi, dtype), arrays.cast(W, dtype)
        objective = self.history[-1].objective
        return State(self.progress.step, objective, self.history, Phi, W, self.progress.scale)
