"""The problem of Algorithm 1: frames and the model of their power, on all frames or a sample."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from phinmf._types import Array, Indices, Precision
from phinmf.algorithm.nmf import Kept, activate, nmf_step
from phinmf.arrays import cast, copied, dtype_of, frames_contiguous, namespace, take_frames
from phinmf.divergences import Penalty
from phinmf.engines import Engine, Objective
from phinmf.engines.base import OutOfTime, never
from phinmf.engines.held import Activations, HeldActivations, fetched
from phinmf.linalg.manifold import exactly_orthogonal


@dataclass(frozen=True)
class Iterate:
    """Φ, W and H of the same moment, between two outer iterations."""

    Phi: Array
    W: Array
    activations: Activations  #: which may still be where the frames are

    @property
    def H(self) -> Array:
        """The activations as an array; fetched if they are elsewhere."""
        return fetched(self.activations)


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


class Model:
    """An engine, the penalty, and what is not updated: V̂, columns of W, or H."""

    def __init__(
        self,
        engine: Engine,
        penalty: Penalty,
        V_hat: Array | None = None,
        kept: Kept | None = None,
        frames: Indices | slice | None = None,
    ) -> None:
        self.engine = engine
        self.frames = frames  #: which of all frames these are; None: all
        self.penalty = penalty
        self.V_hat = V_hat
        self.kept = kept or Kept()
        self.rotated: Array | None = None  #: the Φ of X = ΦY; None if X has been moved since

    def subset(self, sample: Sample | None, dtype: Precision, atoms: Array | None = None) -> Model:
        """Return the same model on a sample of the frames (None: all), in this precision.

        If orthogonal atoms (P, M) are given, its frames are the products of these with the frames.

        Return itself if nothing changes; otherwise the engine of all frames frees its memory.
        """
        if sample is None:
            if dtype == self.engine.dtype and atoms is None:
                return self
            sample = Sample(slice(None), self.engine.weights)
        self.engine.rest()
        self.rotated = None
        V_hat, kept = self.V_hat, self.kept
        if V_hat is not None:
            rows = V_hat if atoms is None else V_hat[: len(atoms)]
            V_hat = frames_contiguous(take_frames(rows, sample.frames), dtype)
        if kept.H is not None:
            kept = kept._replace(H=take_frames(kept.H, sample.frames))
        engine = self.engine.subset(sample.frames, dtype, sample.weights, atoms)
        return Model(engine, self.penalty, V_hat, kept, sample.frames)

    def objective(self, W: Array, eps: float) -> Objective:
        """Return L(Φ) of (3)."""
        if self.V_hat is None:
            return self.engine.objective(W, eps)
        return self.engine.objective_of(self.V_hat, eps)

    def cost(self, W: Array, eps: float) -> float:
        """Return C(Φ, W, H) of (2)."""
        return sum(self.costs(W, eps))

    def costs(self, W: Array, eps: float) -> tuple[float, float]:
        """Return the two terms of C: the divergence and the penalty."""
        return self.objective(W, eps).loss(), self.penalty_of(W)

    def penalty_of(self, W: Array) -> float:
        """Return the penalty of W and the activations."""
        norms = namespace(W).sum(cast(W, np.float64), axis=0)
        totals = norms * self.engine.activation_sums()
        cost = self.penalty.sparsity * float(namespace(W).sum(totals))
        smoothness = self.penalty.smoothness
        return cost + smoothness * self.engine.roughness() if smoothness else cost

    def nmf(
        self, W: Array, eps: float, gamma: float, n_iter: int, out_of_time: OutOfTime = never
    ) -> Array:
        """Update the factors, unless V̂ is given; at least once, then while there is time."""
        for step in range(n_iter if self.V_hat is None else 0):
            if step and out_of_time():
                break
            W = nmf_step(self.engine, W, self.penalty, eps, gamma, self.kept)  # step ⋆
        return W

    def restore(self, at: Iterate, eps: float) -> Iterate:
        """Go to an iterate and make Φ orthogonal; compute activations of frames that have none."""
        dtype = self.engine.dtype
        at = Iterate(
            exactly_orthogonal(at.Phi, dtype, self.engine.algebra),
            copied(at.W, dtype),
            at.activations,
        )
        self.go_to(at)
        H, N = at.activations, self.engine.shape[2]
        if self.kept.H is None:
            if H.shape[1] < N:
                activate(self.engine, at.W, self.penalty, eps)
            elif not isinstance(H, HeldActivations) and H.shape[1] == N and dtype_of(H) == dtype:
                return at
        return Iterate(at.Phi, at.W, self.engine.hold_activations())

    def go_to(self, at: Iterate) -> None:
        """Go to an iterate without changing it."""
        H = at.activations if self.kept.H is None else self.kept.H
        if H.shape[1] > self.engine.shape[2]:  # activations of all frames
            assert self.frames is not None
            H = take_frames(fetched(H), self.frames)
        if H.shape[1] == self.engine.shape[2]:
            self.engine.set_activations(H)  # first: those of another engine let it free its memory
        if at.Phi is not self.rotated:
            self.rotate(at.Phi)

    def rotate(self, Phi: Array) -> None:
        """X ← ΦY."""
        self.rotated = None  # also if it is interrupted
        self.engine.rotate(Phi)
        self.rotated = Phi
