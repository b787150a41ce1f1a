"""Start from the transform that makes the covariances of several stretches nearly diagonal.

A recording is a mixture of the same sounds throughout, but not with the same powers. If each sound
had its own atoms, these would diagonalise the covariance C_s of every stretch s of the recording.
Φ minimises Σ_s [Σ_i log (ΦC_sΦᵀ)_ii - log det C_s] over the orthogonal matrices, which is 0 if all
ΦC_sΦᵀ are diagonal (Pham 2001). It is the Gaussian likelihood of Zhang, Soubies and Févotte (2020),
up to constants, with a power of its own for each atom in each stretch.

`Diagonality` is this criterion as an `Objective`, so that a solver of Φ minimises it: Φ = QU, where
U (M, M) is the Karhunen–Loève transform and only its P strong rows are rotated, by Q (P, P).
"""

from __future__ import annotations

import itertools
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from phinmf import checks
from phinmf._types import Array
from phinmf.arrays import contiguous, identity, is_tensor, namespace, to_numpy
from phinmf.arrays.threads import single_threaded_blas
from phinmf.engines import Evaluation, Objective
from phinmf.inits.base import Frames, Init
from phinmf.inits.covariance import covariance
from phinmf.linalg.algebra import algebra_of
from phinmf.linalg.manifold import exactly_orthogonal
from phinmf.solvers import LBFGS

SILENT = 1e-8  #: added to the power of a stretch, relative to the mean: silence stays silent
CONVERGED = 1e-6  #: largest slope for a rotation of two atoms, for each stretch, at a minimum


@dataclass(frozen=True)
class JointDiagonalisation(Init):
    """The transform that best diagonalises the covariances of stretches of frames.

    The frames are cut into stretches of equal length in time, and the covariance of each is scaled
    to a mean power of 1, so that quiet stretches count as much as loud ones. L-BFGS steps lead from
    the Karhunen–Loève transform to a minimum. This is the only start that depends on the order of
    the frames.

    Parameters
    ----------
    n_stretches : int
        Number S of stretches. The memory is that of S covariances.
    floor : float
        Added to every power, relative to the mean power of the stretch. It keeps the logarithm
        finite in a stretch that is silent or has fewer frames than a frame has samples. Atoms of
        the Karhunen–Loève transform that are weaker than this are not changed.
    n_iter : int
        Maximum number of steps. Each costs 2 S P³ operations for P atoms that are not weaker.
    """

    n_stretches: int = 8
    floor: float = 0.1
    n_iter: int = 40

    draws = False

    def __post_init__(self) -> None:
        checks.count("n_stretches", self.n_stretches, 1)
        checks.number("floor", self.floor, 0, strict=True)
        checks.count("n_iter", self.n_iter, 0)

    def start(self, frames: Frames, rng: np.random.Generator, dtype: DTypeLike) -> Array:
        """Return the atoms in the order of the eigenvectors they came from, where these are."""
        U = frames.karhunen_loeve[0]
        with nullcontext() if is_tensor(U) else single_threaded_blas:
            C = stretch_covariances(frames.in_time or frames, self.n_stretches)
            strong = U[: atoms_above(self.floor, C, U)]
            inside = namespace(U).stack([strong @ A @ strong.mT for A in C])
            Q = self.search(Diagonality(inside, self.floor))
            Phi = namespace(U).concat([Q @ strong, U[len(strong) :]])
            return contiguous(exactly_orthogonal(Phi, dtype))

    def search(self, objective: Diagonality) -> Array:
        """Return Q after steps from the identity to a minimum, `n_iter` of them at most."""
        solver, memory = LBFGS(metric_every=1), None
        for _ in range(self.n_iter):
            G = objective.evaluate().G
            steepest = float(namespace(G).max(namespace(G).abs(G - G.mT)))
            if steepest <= CONVERGED * len(objective.C):
                break
            state = solver.update(objective.Q, objective, 1, memory)
            memory = state.memory
            if state.failed:
                break
        return objective.Q


def stretch_covariances(frames: Frames, S: int) -> list[Array]:
    """Return the covariances (M, M) of S stretches of equal length, each of mean power 1.

    The length is counted in weights, and a frame across an edge counts in part on both sides: so a
    frame of weight 2 is the same as two frames.
    """
    N, w = frames.Y.shape[2], frames.weights
    w = np.ones(N) if w is None else w
    times = np.concatenate([[0.0], np.cumsum(w)])  # where each frame begins, and the last one ends
    edges = times[-1] * np.arange(S + 1) / S
    shares = [np.diff(times.clip(a, b)) for a, b in itertools.pairwise(edges)]
    C = []
    for share in shares:
        used = np.flatnonzero(share)
        stretch = slice(int(used[0]), int(used[-1]) + 1)
        C.append(covariance(frames.Y[:, :, stretch], share[stretch]))
    xp = namespace(C[0])
    powers = [float(xp.linalg.trace(A)) / len(A) for A in C]
    levels = [power + SILENT * sum(powers) / S or 1.0 for power in powers]
    return [A / level for A, level in zip(C, levels, strict=True)]


def atoms_above(floor: float, C: list[Array], U: Array) -> int:
    """Return how many atoms to rotate, up to the last whose mean power is at least the floor."""
    powers = to_numpy(namespace(U).sum((U @ sum(C)) * U, axis=1)) / len(C)
    return int(np.flatnonzero(powers >= floor).max(initial=0)) + 1


class Point(NamedTuple):
    """A rotation, and the powers, loss and gradient there."""

    Q: Array  #: (P, P)
    d: Array  #: (P, S): (Q C_s Qᵀ)_ii + ε
    evaluation: Evaluation


class Diagonality(Objective):
    """L(TQ) = Σ_s Σ_i log d_si with d_si = (TQ C_s QᵀTᵀ)_ii + ε, as a function of T."""

    def __init__(self, C: Array, eps: float) -> None:
        """Begin at Q = I, with covariances C (S, P, P) and ε, which is added to every power."""
        self.C, self.eps = C, eps
        self.algebra = algebra_of(C)
        self.point = self.point_of(identity(C.shape[1], C))
        self.trial: tuple[Array, Point] | None = None  # the last T, and the point TQ

    @property
    def Q(self) -> Array:
        """The rotation (P, P) of the last move."""
        return self.point.Q

    def point_of(self, Q: Array) -> Point:
        """Compute the loss and G_ij = 2 Σ_s (Q C_s Qᵀ)_ij / d_si at Q."""
        self.evaluations += 1
        xp = namespace(Q)
        products = xp.stack([Q @ A for A in self.C], axis=1)  # (P, S, P)
        d = (products @ Q[:, :, None])[:, :, 0] + self.eps
        G = 2 * ((1 / d)[:, None, :] @ products)[:, 0, :] @ Q.mT
        return Point(Q, d, Evaluation(float(xp.sum(xp.log(d))), G))

    def evaluate(self, T: Array | None = None) -> Evaluation:
        """Loss and gradient at TQ."""
        if T is None:
            return self.point.evaluation
        self.trial = T, self.point_of(T @ self.Q)
        return self.trial[1].evaluation

    def loss(self) -> float:
        """Loss at Q."""
        return self.point.evaluation.loss

    def move(self, T: Array) -> None:
        """Q ← TQ."""
        last = self.trial
        self.point = last[1] if last and last[0] is T else self.point_of(T @ self.Q)

    def bound(self) -> Array:
        """h_ij = 2 Σ_s (Q C_s Qᵀ)_jj / d_si."""
        d = self.point.d
        return 2 * (1 / d) @ (d - self.eps).mT

    curvature = bound  #: the rest of the second derivative vanishes where all is diagonal
