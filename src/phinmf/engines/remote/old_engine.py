"""Frames in blocks: the fast engine of the CPU.

What is done to a block stands in `compiled_shard.py`, and the order of sums in `summation.py`:
they run over the same blocks in the same order whatever the number of threads and of shards, so
the bits agree. In memory three arrays as large as the frames are held: Y, X and the trial point.
"""

from __future__ import annotations

import weakref
from abc import abstractmethod
from typing import TypeAlias

import numpy as np

from phinmf._types import Array, Mask, Precision
from phinmf.arrays.threads import Workers
from phinmf.divergences import Divergence, Penalty
from phinmf.engines.base import DictionarySums, Engine, Objective, links_of
from phinmf.engines.compiled.summation import blocks_of, stretches_of
from phinmf.engines.held import Activations, HeldActivations
from phinmf.engines.remote.old_objective import CompiledObjective
from phinmf.engines.remote.old_shard import Shard
from phinmf.engines.remote.old_shards import Shards
from phinmf.engines.remote.old_stretch import Stretch, frames_in_blocks
from phinmf.linalg.algebra import Algebra

Reference: TypeAlias = weakref.ref[HeldActivations] | None


def refers(reference: Reference, held: HeldActivations) -> bool:
    """Whether a reference is to these activations."""
    return reference is not None and reference() is held


class ShardedEngine(Engine):
    """The methods of an engine as calls of shards, wherever these are."""

    compiled_only = True

    def __init__(
        self,
        shape: tuple[int, int, int],
        dtype: Precision,
        divergence: Divergence,
        weights: Array | None,
        links: Mask | None,
        workers: Workers,
        atoms: Array | None = None,
    ) -> None:
        """Hold frames of this shape, or their products with atoms (P, M)."""
        C, M, N = shape
        self.shape, self.dtype = (C, M if atoms is None else len(atoms), N), dtype
        self.atoms = atoms
        self.divergence = divergence
        self.weights = np.ones(shape[2]) if weights is None else weights
        self.links = links_of(self.weights, links)
        self.workers = workers
        self.algebra = Algebra(workers)
        self.n_blocks = len(blocks_of(shape[2]))
        self._now: Reference = None  #: stands for H as it is
        self._kept: Reference = None  #: stands for what the shards keep
        self._K = 0  #: number of components

    @property
    @abstractmethod
    def shards(self) -> Shards:
        """The shards of all frames."""

    def stretches(self, wanted: int) -> list[Stretch]:
        """Cut all blocks into as many stretches, or into fewer if there are not so many blocks."""
        N, equal = self.shape[2], bool((self.weights == self.weights[0]).all())
        links = np.append(self.links, False)  # nothing follows the last frame

        def one(blocks: slice) -> Stretch:
            frames = frames_in_blocks(N, blocks)
            own, around = self.weights[frames], links[frames.start : frames.stop + 1]
            return Stretch(N, blocks, self.divergence, own, equal, around, self.atoms)

        return [one(blocks) for blocks in stretches_of(self.n_blocks, wanted)]

    def __enter__(self) -> ShardedEngine:
        self.workers.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.workers.__exit__()

    def rest(self) -> None:
        self.shards.ask(Shard.rest)
        self.shards.flush()  # others need the memory now

    def rotate(self, Phi: Array) -> None:
        self.shards.ask(Shard.rotate, Phi)

    def powers(self) -> Array:
        return np.concatenate(self.shards.ask(Shard.powers))

    def energies(self) -> Array:
        return np.asarray(self.shards.sums(Shard.energies)[0] / self.shape[0])

    def activations(self) -> Array:
        return np.concatenate(self.shards.ask(Shard.activations)).T

    def hold_activations(self) -> HeldActivations:
        held = None if self._now is None else self._now()
        if held is None:
            held = HeldActivations((self._K, self.shape[2]), self._read)
            self._now = weakref.ref(held)
        return held

    def _read(self, held: HeldActivations) -> Array:
        """Return the numbers that activations held by the shards stand for."""
        if refers(self._now, held):
            return self.activations()
        assert refers(self._kept, held), "they were kept before others"
        return np.concatenate(self.shards.ask(Shard.kept_activations)).T

    def _keep(self) -> None:
        """Let the shards keep H, which is about to change, if somebody may go back to it.

        Whatever is interrupted here, H or what is kept is what was held.
        """
        held = None if self._now is None else self._now()
        if held is not None and held.elsewhere:
            self.shards.ask(Shard.keep_activations)
            self._kept = self._now
        self._now = None

    def set_activations(self, H: Activations) -> None:
        if isinstance(H, HeldActivations):
            if refers(self._now, H):
                return
            if H.elsewhere and refers(self._kept, H):
                self.shards.ask(Shard.restore_activations)
                self._now = self._kept
                return
            H = H.fetch()
        self._keep()
        self.shards.ask_rows(Shard.set_activations, H.T)
        self._K = len(H)

    def scale_activations(self, s: Array) -> None:
        self._keep()
        self.shards.ask(Shard.scale_activations, s)

    def activation_sums(self) -> Array:
        return np.asarray(self.shards.sums(Shard.activation_sums)[0])

    def nmf_pass(self, W: Array, penalty: Penalty, eps: float, gamma: float) -> DictionarySums:
        rates = np.full(W.shape[1], penalty.sparsity if gamma else 0.0)
        if gamma:
            self._keep()
        if gamma and penalty.smoothness:
            raise ValueError("smooth activations need frames in memory: pass Y.compute()")
        numerator, denominator, activation = self.shards.sums(Shard.nmf_pass, W, rates, eps, gamma)
        return DictionarySums(numerator.T, denominator.T, activation)

    def roughness(self) -> float:
        raise ValueError("smooth activations need frames in memory: pass Y.compute()")

    def converge_activations(
        self, W: Array, penalty: Penalty, eps: float, tol: float, max_updates: int
    ) -> None:
        self._keep()
        self.shards.ask(Shard.converge_activations, W, penalty.sparsity, eps, tol, max_updates)

    def objective(self, W: Array, eps: float) -> Objective:
        return CompiledObjective(self.shards, self.algebra, self.shape[0], eps, W=W)

    def objective_of(self, V_hat: Array, eps: float) -> Objective:
        return CompiledObjective(self.shards, self.algebra, self.shape[0], eps, V_hat=V_hat.T)
