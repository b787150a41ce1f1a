"""Learning from frames that arrive in blocks, in constant memory.

A window holds a random sample of the frames seen so far, in which recent ones prevail. When it has
its first frames, and again whenever a quarter of it is new, an annealed fit on the window finds Φ
and W, from what was known. In between, blocks are only measured. (Updates of W from every block,
and steps of the solver on the window, did not raise the score of frames that were not seen.)
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
from phinmf.algorithm.window import Window, keys_for
from phinmf.fit.automatic import AUTO
from phinmf.fit.blocks import Block, Waiting, with_sound
from phinmf.fit.engine import engine_for
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
class Learned:
    """What was learned."""

    Phi: Array
    W: Array  #: (M, K), double precision, columns of sum 1
    fitted_at: int  #: the step of the last fit on the window


@dataclass(frozen=True)
class Progress:
    """Everything that the next step depends on."""

    step: int = 0  #: number of blocks so far; those without sound do not count
    n_frames: int = 0  #: number of frames in them; silent ones do not count
    clock: float = 0.0  #: their weight, in blocks
    energy: float = 0.0  #: Σ y² of these frames, fading
    count: float = 0.0  #: number of their samples, fading
    window: Window | None = None  #: None before the first frame
    learned: Learned | None = None  #: None before the first fit
    divergence: float = 0.0  #: sum of what was measured in every step
    penalty: float = 0.0  #: the same
    evaluations: int = 0  #: of loss and gradient

    @property
    def scale(self) -> float:
        """Root mean square of the frames so far, of which recent ones count more."""
        return math.sqrt(self.energy / self.count)

    @property
    def renewed(self) -> float:
        """Share of the window that has arrived since it was last fitted."""
        assert self.window is not None
        assert self.learned is not None
        return self.window.share_since(self.learned.fitted_at)


@dataclass(frozen=True)
class OnlineFit:
    """How frames are learned from, block by block."""

    options: Options
    n_components: Components
    block_size: int
    forget_factor: float
    seed: int
    W: Array  #: (M, n): the first columns at the start, as given
    keeps_Phi: bool = False
    columns: Indices | None = None  #: of W that stay

    @property
    def continues_fit(self) -> bool:
        """Whether it starts from what `fit` has learned, which is kept until the first step."""
        return isinstance(self.options.init, Continuation)

    @property
    def window_size(self) -> int:
        """Maximum number of frames in the window: fewer if they are soon forgotten."""
        blocks = LIFETIMES / max(1 - self.forget_factor, LIFETIMES / BLOCKS_IN_WINDOW)
        return math.ceil(max(blocks, BLOCKS_TO_BEGIN) * self.block_size)

    def step(self, at: Progress, block: Block) -> tuple[Progress, Row | None]:
        """Learn from a block with sound; return a row of the history, except before the first fit.

        What the row measures is the cost of the block before anything was learned from it.
        """
        blocks = block.total / self.block_size
        fade = self.forget_factor**blocks
        C, M, n = block.Y.shape
        after = replace(
            at,
            step=at.step + 1,
            n_frames=at.n_frames + n,
            clock=at.clock + blocks,
            energy=fade * at.energy + block.energy,
            count=fade * at.count + block.total * C * M,
        )
        block.check_scale(after.scale)
        keys = keys_for(n, after.clock, self.forget_factor, [self.seed, after.step])
        weights = np.ones(n) if block.weights is None else block.weights
        window = Window(block.Y, weights, keys, np.full(n, after.step))
        if at.window is not None:
            window = at.window.plus(window, self.window_size)
        after = replace(after, window=window)
        if at.learned is None:
            few = after.n_frames < BLOCKS_TO_BEGIN * self.block_size
            return (after, None) if few else self.begun(after)
        costs, result = self.costs(after, block), None
        if after.renewed >= RENEWED:
            after, result = self.fitted(after)
        return self.recorded(after, *costs, n, result)

    def begun(self, at: Progress) -> tuple[Progress, Row]:
        """Find Φ and W on the first frames, as `tl_nmf` does."""
        after, result = self.fitted(at)
        return self.recorded(after, result.divergence, result.penalty, at.n_frames, result)

    def costs(self, at: Progress, block: Block) -> tuple[float, float]:
        """Return the divergence and the penalty of a block."""
        learned, options = at.learned, self.options
        assert learned is not None
        Y = to_scale(block.Y, 0, at.scale)
        o = self.options
        with engine_for(o.engine, Y, o.divergence, o.n_threads, block.weights) as engine:
            W = arrays.cast(learned.W, engine.dtype)
            engine.rotate(learned.Phi)
            activate(engine, W, options.penalty, options.floor, ENCODING_STEPS)
            return Model(engine, options.penalty).costs(W, options.floor)

    def fitted(self, at: Progress) -> tuple[Progress, Result]:
        """Fit the window with Algorithm 1."""
        window, options, W = at.window, self.options, self.W
        assert window is not None
        n_components: Components = self.n_components
        if at.learned is not None:
            options, W = again(options, at.learned.Phi), at.learned.W
            n_components = W.shape[1]
        problem = problem_of(
            window.Y,
            n_components,
            options,
            W=None if n_components == AUTO and not W.shape[1] else W,
            fixed={"Phi": self.keeps_Phi, "W": False if self.columns is None else self.columns},
            sample_weight=window.weights,
        )
        with early_stops():
            (result,) = problem.solve([self.seed], [None])
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        assert result.W is not None
        W, _ = normalise(arrays.cast(result.W, np.float64))
        return replace(at, learned=Learned(result.Phi, W, at.step)), result

    def recorded(
        self,
        at: Progress,
        divergence: float,
        penalty: float,
        n_frames: int,
        result: Result | None,
    ) -> tuple[Progress, Row]:
        """Add what was measured in a step, and return its row of the history.

        The last columns are those of the last iteration of a fit, if there was one in the step.
        """
        last = result.history[-1] if result is not None and len(result.history) else None
        at = replace(
            at,
            divergence=at.divergence + divergence,
            penalty=at.penalty + penalty,
            evaluations=at.evaluations + (last.evaluations if last else 0),
        )
        return at, Row(
            objective=divergence + penalty,
            divergence=divergence,
            penalty=penalty,
            target_objective=divergence + penalty,
            gradient=last.gradient if last else math.nan,
            steps=last.steps if last else (),
            search_failed=bool(last and last.search_failed),
            evaluations=at.evaluations,
            frames=n_frames,
            atoms=self.W.shape[0],
            seconds=math.nan,  # the caller has the clock
            floor=self.options.floor,
        )


def again(options: Options, Phi: Array) -> Options:
    """The options of a fit that continues from what is known."""
    if (anneal := options.anneal) is not None:
        start, length = min(anneal.start, AGAIN_FROM), min(anneal.length, AGAIN_LENGTH)
        options = options.with_anneal(replace(anneal, start=start, length=length))
    return replace(options, init=Continuation(Phi))


def prepared(options: Options, keeps_Phi: bool) -> Options:
    """The options of fits on a window: a limit on the time would make their bits depend on it."""
    needs_all = {
        f"n_atoms is {options.n_atoms}": options.n_atoms is not None,
        f"smoothness is {options.smoothness:g}": bool(options.smoothness),
        "floor is 0": options.floor == 0,
        "engine is 'dask'": options.engine == "dask",
    }
    for what, needed in needs_all.items():
        if needed:
            raise ValueError(f"{what}, which needs all frames at once: use fit, or the default")
    options = options.keeping_Phi() if keeps_Phi else options
    return replace(options, max_time=None)


@dataclass
class Learner:
    """What was learned from the frames so far, and the frames that wait until they fill a block."""

    fit: OnlineFit
    example: Array  #: (1, M, 1): frames of later calls are converted to its type and device
    lasting: tuple[str, ...]  #: parameters that must not change any more, as texts
    at: Progress = field(default_factory=Progress)
    history: History = field(default_factory=lambda: History(0.0))
    seconds: float = 0.0  #: spent on learning; waiting for frames does not count
    waiting: Waiting = field(default_factory=Waiting)  #: less than a block
    n_seen: int = 0  #: number of frames that were given
    n_tried: int = 0  #: the same at the last fit that had fewer frames than a first fit needs

    def copied(self) -> Learner:
        """A copy that can learn without changing this one."""
        waiting = Waiting()
        waiting.parts = list(self.waiting.parts)
        return replace(self, history=self.history.copied(), waiting=waiting)

    def feed(self, Y: Array, weights: Array | None, watch: Callable[[Learner], object]) -> bool:
        """Learn from frames (C, M, n) as far as they fill blocks; return whether they do."""
        self.waiting.put(Y, weights)
        self.n_seen += Y.shape[2]
        stepped = False
        while self.waiting.n_frames >= self.fit.block_size:
            if self.learn(*self.waiting.take(self.fit.block_size)):
                stepped = True
                watch(self)
        return stepped

    def learn(self, Y: Array, weights: Array | None = None) -> bool:
        """Learn from a block (C, M, n); return whether the history has a new row."""
        block = with_sound(Y, weights)
        return block is not None and self.noted(lambda: self.fit.step(self.at, block))

    def with_all_frames(self) -> Learner | None:
        """A learner that has also learned from the frames that wait; None if there is no sound."""
        ahead = self.copied()
        if ahead.waiting.n_frames:
            ahead.learn(*ahead.waiting.take(ahead.waiting.n_frames))
        if ahead.at.window is None:
            return None
        if ahead.at.learned is None:
            ahead.noted(lambda: ahead.fit.begun(ahead.at))
        return ahead

    def noted(self, step: Callable[[], tuple[Progress, Row | None]]) -> bool:
        """Make a step, and add its row to the history, which holds the last ones."""
        start = time.perf_counter()
        self.at, row = step()
        self.seconds += time.perf_counter() - start
        if row is None:
            return False
        if not len(self.history):
            self.history.start = row.objective
        self.history.rows.append(row._replace(seconds=self.seconds))
        del self.history.rows[:-HISTORY]
        return True

    @property
    def factors(self) -> tuple[Array, Array]:
        """Φ and W, in the precision of the frames; columns that stay are as they were given."""
        learned, columns = self.at.learned, self.fit.columns
        assert learned is not None
        W, dtype = arrays.copied(learned.W), arrays.dtype_of(self.example)
        if columns is not None:
            W[:, columns] = self.fit.W[:, columns]
        return exactly_orthogonal(learned.Phi, dtype), arrays.cast(W, dtype)

    def state(self) -> State:
        """The argument of a callback."""
        objective = self.history[-1].objective
        return State(self.at.step, objective, self.history, *self.factors, self.at.scale)
