"""Learning from frames that arrive in blocks, in constant memory.

A window holds a random sample of the frames seen so far, in which recent ones prevail. When it has
its first frames, and again whenever half of it is new, an annealed fit on the window finds Φ and W.
In between, W is learned from every block by sums that fade (`algorithm/statistics.py`), and Φ makes
a few steps of the solver on the window: one block has too few frames for the M²/2 numbers of Φ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from phinmf import arrays
from phinmf._types import Array, Components, Fixed, Indices
from phinmf.algorithm.model import Model
from phinmf.algorithm.nmf import Kept, activate, normalise
from phinmf.algorithm.statistics import Exponents, FadingSums, learn_dictionary
from phinmf.algorithm.window import Window, keys_for
from phinmf.engines import Engine
from phinmf.fit.blocks import Block
from phinmf.fit.description import Seed
from phinmf.fit.engine import engine_for
from phinmf.fit.options import FitOptions
from phinmf.fit.power import at_scale
from phinmf.fit.problem import problem_of
from phinmf.inits.given import KnownTransform
from phinmf.linalg.manifold import exactly_orthogonal, skew
from phinmf.result import Result, Row

BLOCKS_TO_BEGIN = 2  #: in the window when the first fit begins
BLOCKS_IN_WINDOW = 6
RENEWED = 0.5  #: share of the window that is new when it is fitted again
AGAIN_FROM, AGAIN_LENGTH = 1e-2, 24  #: highest floor and longest schedule of these fits
ENCODING_STEPS = 10  #: updates of the activations of a new block before it is measured
DICTIONARY_STEPS = 2  #: updates of W on a new block


@dataclass(frozen=True)
class Learned:
    """What was learned, and the sums over frames that it is learned from."""

    Phi: Array
    W: Array  #: (M, K), double precision, columns of sum 1
    sums: FadingSums  #: of frames at unit power
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


class Descended(NamedTuple):
    """How Φ was updated in a step; the names are those of `Row`."""

    gradient: float = math.nan
    steps: tuple[float, ...] = ()
    search_failed: bool = False
    evaluations: int = 0


@dataclass(frozen=True)
class OnlineFit:
    """How frames are learned from, block by block."""

    options: FitOptions
    n_components: Components
    block_size: int
    forget_factor: float
    seed: int
    W: Array  #: (M, n): the first columns at the start, as given
    fixed: Fixed = None
    columns: Indices | None = None  #: of W that stay
    random_state: Seed = None  #: as given, for a checkpoint

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
        seed = [self.seed, after.step]
        keys = keys_for(n, block.weights, after.clock, self.forget_factor, seed)
        arrived = Window(block.Y, arrays.zeros((0, n), block.Y), keys, np.full(n, after.step))
        if at.learned is not None:
            return self.continued(at, after, block, fade, arrived)
        after = replace(after, window=self.joined(at.window, arrived))
        if after.n_frames < BLOCKS_TO_BEGIN * self.block_size:
            return after, None
        return self.begun(after)

    def begun(self, at: Progress) -> tuple[Progress, Row]:
        """Find Φ and W on the first frames, as `tl_nmf` does."""
        after, found = self.fitted(at, self.options, self.n_components, self.W)
        made = descended_in(found)
        return self.recorded(after, found.divergence, found.penalty, at.n_frames, made)

    def continued(
        self, at: Progress, after: Progress, block: Block, fade: float, arrived: Window
    ) -> tuple[Progress, Row]:
        """Measure a block, learn W from it, and then Φ from the window."""
        known, window, options = at.learned, at.window, self.options.algorithm
        assert known is not None
        assert window is not None
        change = (at.scale / after.scale) ** 2  # of the power of all frames, in the new unit
        past = known.sums.in_unit(change, self.options.divergence.degree).times(fade)
        with self.engine(block.Y, after.scale, block.weights) as engine:
            model, W = self.model(engine), arrays.cast(known.W, engine.dtype)
            engine.rotate(known.Phi)
            activate(engine, W, options.penalty, options.floor, ENCODING_STEPS)
            divergence, penalty = model.costs(W, options.floor)
            W, sums, s = learn_dictionary(model, known.W, past, options.floor, DICTIONARY_STEPS)
            H = engine.activations() * self.unit(after)
        window = window.with_activations(window.H * arrays.cast(s, engine.dtype)[:, None])
        window = self.joined(window, arrived.with_activations(H))
        after = replace(after, window=window, learned=replace(known, W=W, sums=sums))
        if window.share_since(known.fitted_at) < RENEWED:
            after, descended = self.descended(after)
        else:
            continuing = again(self.options, known.Phi)
            after, found = self.fitted(after, continuing, W.shape[1], W)
            descended = descended_in(found)
        return self.recorded(after, divergence, penalty, block.Y.shape[2], descended)

    def descended(self, at: Progress) -> tuple[Progress, Descended]:
        """Make a few steps of the solver on the window."""
        known, window, options = at.learned, at.window, self.options.algorithm
        assert known is not None
        assert window is not None
        if options.solver is None:
            return at, Descended()
        with self.engine(window.Y, at.scale) as engine:
            model, W = self.model(engine), arrays.cast(known.W, engine.dtype)
            engine.rotate(known.Phi)
            engine.set_activations(window.H / self.unit(at))
            for _ in range(options.n_iter_nmf):
                engine.nmf_pass(W, options.penalty, options.floor, options.nmf_exponent)
            objective = model.objective(W, options.floor)
            found = options.solver.update(known.Phi, objective, options.n_iter_transform)
            Phi = exactly_orthogonal(found.Phi, engine.dtype, engine.algebra)
            H = engine.activations() * self.unit(at)
        gradient = float(arrays.namespace(found.G).linalg.norm(skew(found.G)))
        made = Descended(gradient, tuple(found.steps), found.failed, objective.evaluations)
        window = window.with_activations(H)
        return replace(at, window=window, learned=replace(known, Phi=Phi)), made

    def fitted(
        self, at: Progress, options: FitOptions, n_components: Components, W: Array
    ) -> tuple[Progress, Result]:
        """Fit the window with Algorithm 1, and make the sums anew from it."""
        window = at.window
        assert window is not None
        kept = None if self.columns is None else {"W": self.columns}
        fixed = self.fixed if at.learned is None else kept
        problem = problem_of(window.Y, n_components, options, W=W, fixed=fixed)
        (found,) = replace(problem, warns=False).solve([self.seed], [None])
        assert found.W is not None
        assert found.H is not None
        W, s = normalise(arrays.cast(found.W, np.float64))
        window = window.with_activations(
            found.H * arrays.cast(s, arrays.dtype_of(found.H))[:, None]
        )
        with self.engine(window.Y, at.scale) as engine:
            engine.rotate(found.Phi)
            engine.set_activations(window.H / self.unit(at))
            here = arrays.cast(W, engine.dtype)
            floor = self.options.algorithm.floor
            sums = engine.nmf_pass(here, options.algorithm.penalty, floor, 0.0)
            exponents = Exponents.of(options.divergence)
            frames = at.count / (window.Y.shape[0] * window.Y.shape[1])
            faded = FadingSums.of(sums, W, exponents).times(frames / window.n_frames)
        learned = Learned(found.Phi, W, faded, at.step)
        return replace(at, window=window, learned=learned), found

    def recorded(
        self, at: Progress, divergence: float, penalty: float, n_frames: int, made: Descended
    ) -> tuple[Progress, Row]:
        """Add what was measured in a step, and return its row of the history."""
        assert at.learned is not None
        at = replace(
            at,
            divergence=at.divergence + divergence,
            penalty=at.penalty + penalty,
            evaluations=at.evaluations + made.evaluations,
        )
        cost, made = divergence + penalty, made._replace(evaluations=at.evaluations)
        return at, Row(
            objective=cost, divergence=divergence, penalty=penalty, target_objective=cost,
            frames=n_frames, atoms=len(at.learned.Phi), seconds=math.nan,
            floor=self.options.algorithm.floor, **made._asdict(),
        )  # fmt: skip

    def joined(self, window: Window | None, arrived: Window) -> Window:
        """The window with the frames that arrived."""
        most = BLOCKS_IN_WINDOW * self.block_size
        return arrived if window is None else window.plus(arrived, most)

    def engine(self, Y: Array, scale: float, weights: Array | None = None) -> Engine:
        """An engine that holds frames at unit power."""
        o = self.options
        return engine_for(o.engine, at_scale(Y, 0, scale), o.divergence, o.n_threads, weights)

    def model(self, engine: Engine) -> Model:
        """The model of Algorithm 1 on these frames."""
        return Model(engine, self.options.algorithm.penalty, kept=Kept(self.columns))

    def unit(self, at: Progress) -> float:
        """What activations are divided by where frames have unit power."""
        assert at.window is not None
        return float(arrays.dtype_of(at.window.Y).type(at.scale) ** 2)


def descended_in(found: Result) -> Descended:
    """How Φ was updated in the last iteration of a fit; the evaluations are those of all."""
    if not len(found.history):
        return Descended()
    last = found.history[-1]
    return Descended(last.gradient, last.steps, last.search_failed, last.evaluations)


def again(options: FitOptions, Phi: Array) -> FitOptions:
    """The options of a fit that continues from what is known."""
    algorithm = options.algorithm
    if (anneal := algorithm.anneal) is not None:
        start, length = min(anneal.start, AGAIN_FROM), min(anneal.length, AGAIN_LENGTH)
        algorithm = replace(algorithm, anneal=replace(anneal, start=start, length=length))
    return replace(options, algorithm=algorithm, init=KnownTransform(Phi))
