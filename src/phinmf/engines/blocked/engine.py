"""Frames in blocks that worker threads take in turn: the fast engine of the CPU.

What is done to a block stands in `run.py`, and the order of sums in `summation.py`: they run over
the same blocks in the same order whatever the number of threads, so the bits agree. Three arrays
as large as the frames are held: Y, X and the trial point.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import Array, Indices
from phinmf.arrays import channels_apart
from phinmf.arrays.threads import Workers
from phinmf.divergences import Divergence, is_compiled
from phinmf.engines.base import DictionarySums, Engine, Objective
from phinmf.engines.blocked.objective import BlockedObjective
from phinmf.engines.blocked.shard import Run
from phinmf.engines.blocked.share import Share, frames_of
from phinmf.engines.blocked.summation import blocks_of, total
from phinmf.linalg.algebra import Algebra


class BlockedEngine(Engine):
    """NumPy products and compiled elementwise passes on blocks of frames, all in one run."""

    def __init__(
        self,
        Y: Array,
        divergence: Divergence,
        n_threads: int | None = None,
        weights: Array | None = None,
        workers: Workers | None = None,
    ) -> None:
        self.hold(Y.shape, Y.dtype, divergence, weights, workers or Workers(n_threads))
        self.Y = channels_apart(Y.transpose(0, 2, 1))
        self.run = Run(self.Y, self.share(slice(0, self.n_blocks)), self.workers)

    def hold(
        self,
        shape: tuple[int, int, int],
        dtype: np.dtype[Any],
        divergence: Divergence,
        weights: Array | None,
        workers: Workers,
    ) -> None:
        """Everything but the frames."""
        self.shape, self.dtype = shape, dtype
        self.divergence = divergence
        self.weights = np.ones(shape[2]) if weights is None else weights
        self.equal = bool((self.weights == self.weights[0]).all())
        self.workers = workers
        self.algebra = Algebra(self.workers)
        self.n_blocks = len(blocks_of(shape[2]))
        self.trial: Array | None = None  #: the last T that was evaluated, if X is still the same
        self._model: Array | None = None

    def share(self, blocks: slice) -> Share:
        """What a run of these blocks needs to know."""
        N = self.shape[2]
        weights = self.weights[frames_of(N, blocks)]
        return Share(N, blocks, self.divergence, weights, self.equal)

    @classmethod
    def supports(cls, divergence: Divergence) -> bool:
        return is_compiled(divergence)

    def __enter__(self) -> BlockedEngine:
        self.workers.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.workers.__exit__()

    def subset(self, frames: Indices | slice, dtype: DTypeLike, weights: Array) -> BlockedEngine:
        Y = self.Y[:, frames].astype(dtype).transpose(0, 2, 1)
        return BlockedEngine(Y, self.divergence, None, weights, self.workers)

    # how runs are asked

    def answers(self, name: str, *args: Any, rows: Array | None = None) -> Iterable[Any]:
        """The answer of every run of blocks, in order; each gets its own of the rows (N, …)."""
        own = () if rows is None else (rows,)
        yield getattr(self.run, name)(*own, *args)

    def ask(self, name: str, *args: Any, rows: Array | None = None) -> list[Any]:
        """All answers."""
        return list(self.answers(name, *args, rows=rows))

    def sums(self, name: str, *args: Any) -> list[Any]:
        """What all blocks add up to, added as the answers come in."""
        return total(self.n_blocks, chain.from_iterable(self.answers(name, *args)))

    # the contract

    def rest(self) -> None:
        self.ask("rest")
        self.trial = None

    def rotate(self, Phi: Array) -> None:
        self.ask("rotate", Phi)
        self.trial = None

    def powers(self) -> Array:
        return np.concatenate(self.ask("powers"))

    def energies(self) -> Array:
        return np.asarray(self.sums("energies")[0] / self.shape[0])

    def activations(self) -> Array:
        return np.concatenate(self.ask("activations")).T

    def set_activations(self, H: Array) -> None:
        self.ask("set_activations", rows=H.T)

    def scale_activations(self, s: Array) -> None:
        self.ask("scale_activations", s)

    def activation_sums(self) -> Array:
        return np.asarray(self.sums("activation_sums")[0])

    def nmf_pass(self, W: Array, mu: float, eps: float, gamma: float) -> DictionarySums:
        numerator, denominator, activation = self.sums("nmf_pass", W, mu, eps, gamma)
        return DictionarySums(numerator.T, denominator.T, activation)

    def converge_activations(self, W: Array, mu: float, eps: float, tol: float, most: int) -> None:
        self.ask("converge_activations", W, mu, eps, tol, most)

    def objective(self, W: Array, eps: float) -> Objective:
        return BlockedObjective(self, W, None, eps)

    def objective_of(self, V_hat: Array, eps: float) -> Objective:
        return BlockedObjective(self, None, V_hat.T, eps)

    # what the objective builds on

    def move(self, T: Array) -> None:
        """X ← TX; T need not be told again if it was the last one evaluated."""
        self.ask("move", None if T is self.trial else T)
        self.trial = None

    def set_model(self, V_hat: Array) -> None:
        """Let the runs hold a given model (N, M) of the power, if they do not yet."""
        if V_hat is not self._model:
            self.ask("set_model", rows=V_hat)
            self._model = V_hat
