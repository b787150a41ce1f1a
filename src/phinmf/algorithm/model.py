"""The problem of Algorithm 1: frames and the model of their power, on all frames or a sample."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from phinmf._types import Array, Indices, Precision
from phinmf.algorithm.nmf import NONE, FixedFactors, activate, nmf_step
from phinmf.arrays import cast, copied, dtype_of, frames_contiguous, namespace, take_frames
from phinmf.divergences import Penalty
from phinmf.engines import Engine, Objective
from phinmf.engines.base import Activations, LazyActivations, OutOfTime, as_array, never
from phinmf.linalg.manifold import exactly_orthogonal


@dataclass(frozen=True)
class Iterate:
    """Φ, W and H of the same moment, between two outer iterations."""

    Phi: Array
    W: Array
    activations: Activations  #: which may still be where the frames are

    @property
    def H(self) -> Array:
        """The activations as an array; read from the workers of a cluster if they are there."""
        return as_array(self.activations)


ALL = slice(None)  #: all frames


class Sample(NamedTuple):
    """Some of the frames, and how many frames each of them represents, as arrays of NumPy."""

    frames: Indices | slice
    weights: Array


def draw(weights: Array, n: int, rng: np.random.Generator) -> Sample:
    """Draw n frames that represent all; a frame of weight 2 counts as two.

    The state of `rng` is not changed, so a run draws the same frames every time, also after it was
    resumed.
    """
    ends = np.cumsum(weights)
    total = ends[-1]
    places = np.sort(copy.deepcopy(rng).choice(round(total), n, replace=False))
    frames, counts = np.unique(np.searchsorted(ends, places, side="right"), return_counts=True)
    return Sample(frames, counts * (total / n))


@dataclass(eq=False)
class Model:
    """An engine, the penalty, and what is not updated: V̂, columns of W, or H.

    Invariant: X = Φ·Y to the last bit where `rotated` is Φ.
    """

    engine: Engine
    penalty: Penalty
    V_hat: Array | None = None
    fixed: FixedFactors = NONE
    frames: Indices | slice | None = None  #: which of all frames these are; None: all
    rotated: Array | None = None  #: the Φ of X = ΦY; None if X has been moved since

    def subset(self, sample: Sample | None, dtype: Precision, atoms: Array | None = None) -> Model:
        """Return the same model on a sample of the frames (None: all), in this precision.

        With orthogonal atoms (P, M), its frames are their products with the frames, P samples each.

        Return itself if nothing changes; otherwise the engine of all frames frees its memory.
        """
        if sample is None:
            if dtype == self.engine.dtype and atoms is None:
                return self
            sample = Sample(ALL, self.engine.weights)
        self.engine.rest()
        self.rotated = None
        V_hat, fixed = self.V_hat, self.fixed
        if V_hat is not None:
            V_hat = frames_contiguous(take_frames(V_hat, sample.frames), dtype)
        if fixed.H is not None:
            fixed = fixed._replace(H=take_frames(fixed.H, sample.frames))
        engine = self.engine.subset(sample.frames, dtype, sample.weights, atoms)
        return Model(engine, self.penalty, V_hat, fixed, sample.frames)

    def objective(self, W: Array, eps: float) -> Objective:
        """Return L(Φ) of (3)."""
        if self.V_hat is None:
            return self.engine.objective(W, eps)
        return self.engine.objective_of(self.V_hat, eps)

    def costs(self, W: Array, eps: float) -> tuple[float, float]:
        """Return the two terms of C(Φ, W, H) of (2): the divergence and the penalty."""
        return self.objective(W, eps).loss(), self.penalty_of(W)

    def penalty_of(self, W: Array) -> float:
        """Return the penalty of W and the activations."""
        norms = namespace(W).sum(cast(W, np.float64), axis=0)
        totals = norms * self.engine.activation_sums()
        cost = self.atoms_per_power(W) * self.penalty.sparsity * float(namespace(W).sum(totals))
        smoothness = self.penalty.smoothness
        return cost + smoothness * self.engine.roughness() if smoothness else cost

    def atoms_per_power(self, W: Array) -> int:
        """Return 2 if atoms come in pairs, which share a row of W (P, K); otherwise 1.

        The objective counts what a pair costs, and the sparsity, twice: so both are of the size
        that they have if each atom has a power of its own.
        """
        return self.engine.shape[1] // len(W)

    def nmf_penalty(self, W: Array) -> Penalty:
        """Return the penalty beside the cost of each power, which counts once in an NMF step."""
        penalty = self.penalty
        if not penalty.smoothness:
            return penalty
        return replace(penalty, smoothness=penalty.smoothness / self.atoms_per_power(W))

    def nmf(
        self, W: Array, eps: float, gamma: float, n_iter: int, out_of_time: OutOfTime = never
    ) -> Array:
        """Update H in the engine and return W; neither, if V̂ is fixed.

        At most `n_iter` times: once, then while there is time.
        """
        for step in range(n_iter if self.V_hat is None else 0):
            if step and out_of_time():
                break
            W = nmf_step(self.engine, W, self.nmf_penalty(W), eps, gamma, self.fixed)  # step ⋆
        return W

    def restore(self, iterate: Iterate, eps: float) -> Iterate:
        """Go to an iterate and make Φ orthogonal; compute activations of frames that have none."""
        dtype, N = self.engine.dtype, self.engine.shape[2]
        Phi = exactly_orthogonal(iterate.Phi, dtype, self.engine.algebra)
        W, H = copied(iterate.W, dtype), iterate.activations
        iterate = Iterate(Phi, W, H)
        self.go_to(iterate)
        if self.fixed.H is None:
            if H.shape[1] < N:
                activate(self.engine, W, self.nmf_penalty(W), eps)
            elif not isinstance(H, LazyActivations) and H.shape[1] == N and dtype_of(H) == dtype:
                return iterate
        return Iterate(Phi, W, self.engine.lazy_activations())

    def go_to(self, iterate: Iterate) -> None:
        """Go to an iterate without changing it."""
        H = iterate.activations if self.fixed.H is None else self.fixed.H
        if self.frames is not None and H.shape[1] > self.engine.shape[2]:  # of all frames
            H = take_frames(as_array(H), self.frames)
        if H.shape[1] == self.engine.shape[2]:
            self.engine.set_activations(H)  # first: those of another engine let it free its memory
        if iterate.Phi is not self.rotated:
            self.rotate(iterate.Phi)

    def rotate(self, Phi: Array) -> None:
        """X ← ΦY."""
        self.rotated = None  # also if it is interrupted
        self.engine.rotate(Phi)
        self.rotated = Phi
