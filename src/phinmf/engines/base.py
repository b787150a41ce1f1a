"""The contract of an engine.

Everything the algorithm needs from the data is a sum over frames, and the activations of a frame
depend on that frame alone. So whatever has an axis of frames (Y, X, H) lives in an engine, and
whatever is M×M or M×K (Φ, W, G, h) lives in the algorithm. An engine decides nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import Array, Indices
from phinmf.divergences import Divergence
from phinmf.linalg.algebra import Algebra

OutOfTime = Callable[[], bool]

CHECK_EVERY = 5  #: updates between two looks at the cost of a frame that settles


def never() -> bool:
    """There is always time."""
    return False


class Evaluation(NamedTuple):
    """L and its derivative at one transform."""

    loss: float
    G: Array  #: (M, M), equation (8)


class DictionarySums(NamedTuple):
    """What the update of W needs from the frames."""

    numerator: Array  #: (M, K), PHᵀ
    denominator: Array  #: (M, K), QHᵀ
    activation: Array  #: (K,), H1


class Objective(ABC):
    """L(TΦ) = Σ f(TX) of (3) as a function of T; valid while W and H stay as they were."""

    algebra: Algebra  #: for M×M matrices, where and how the engine computes
    evaluations: int = 0  #: of the loss of all entries, counted since the objective was made
    out_of_time: OutOfTime = staticmethod(never)  #: solvers ask after every step

    @abstractmethod
    def at(self, T: Array | None = None) -> Evaluation:
        """Loss and gradient at TX; None is the identity."""

    @abstractmethod
    def loss(self) -> float:
        """Loss at X, without its gradient; not counted as an evaluation."""

    @abstractmethod
    def move(self, T: Array) -> None:
        """Make TX the new X; free if T was the last one evaluated."""

    @abstractmethod
    def bound(self) -> Array:
        """h_ij = Σ_n b(x_in) x_jn² of (12) at X."""

    @abstractmethod
    def curvature(self) -> Array:
        """Σ_n f''(x_in) x_jn² at X, the first term of (9)'s diagonal."""

    @abstractmethod
    def pair_losses(self, p: Indices, q: Indices, angles: Array) -> Array:
        """Loss of rows p and q after R_pq(θ), for each pair and each of its angles; on the host."""


class Engine(ABC):
    """Frames Y at unit power, their transform X = ΦY, and the activations H."""

    #: number of channels, window length, number of frames
    shape: tuple[int, int, int]

    dtype: np.dtype[Any]
    algebra: Algebra
    weights: Array  #: (N,): how many frames each frame stands for in every sum; on the host
    tensors: bool = False  #: whether frames may be a tensor of PyTorch

    @abstractmethod
    def __init__(
        self,
        Y: Array,
        divergence: Divergence,
        n_threads: int | None = None,
        weights: Array | None = None,
    ) -> None:
        """Hold Y of shape (C, M, N), without weights one each; never write to them."""

    @classmethod
    def supports(cls, divergence: Divergence) -> bool:
        """Whether this engine can compute with a divergence."""
        return True

    def __enter__(self) -> Engine:
        """Take hold of threads or a device; every method may rely on it."""
        return self

    def __exit__(self, *_: object) -> None:  # noqa: B027
        """Let go of them."""

    @abstractmethod
    def subset(self, frames: Indices | slice, dtype: DTypeLike, weights: Array) -> Engine:
        """Return an engine of the same kind on some of the frames, in another precision.

        Indices and weights are on the host.
        """

    @abstractmethod
    def rest(self) -> None:
        """Give up the memory of X; `rotate` comes before anything else is asked."""

    @abstractmethod
    def rotate(self, Phi: Array) -> None:
        """X ← ΦY, afresh, so that rounding does not build up."""

    @abstractmethod
    def powers(self) -> Array:
        """(N,): mean power of each frame, over its samples and channels."""

    @abstractmethod
    def energies(self) -> Array:
        """(M,): e_i = Σ_n v_in, the energy of each atom, weighted."""

    @abstractmethod
    def activations(self) -> Array:
        """(K, N): a copy of H."""

    @abstractmethod
    def set_activations(self, H: Array) -> None:
        """Replace H by a copy of this one."""

    @abstractmethod
    def scale_activations(self, s: Array) -> None:
        """h_k ← s_k h_k."""

    @abstractmethod
    def nmf_pass(self, W: Array, mu: float, eps: float, gamma: float) -> DictionarySums:
        """Update H given W, then sum what the update of W needs at the new H; γ = 0 keeps H."""

    @abstractmethod
    def converge_activations(self, W: Array, mu: float, eps: float, tol: float, most: int) -> None:
        """Update H given W until each frame's own cost falls by at most tol an entry, γ = 1.

        A frame is looked at every `CHECK_EVERY` updates, `most` being the last, and its result
        does not depend on the others.
        """

    @abstractmethod
    def activation_sums(self) -> Array:
        """(K,): H1, weighted."""

    @abstractmethod
    def objective(self, W: Array, eps: float) -> Objective:
        """L with v̂ = WH + ε."""

    @abstractmethod
    def objective_of(self, V_hat: Array, eps: float) -> Objective:
        """L with a given (M, N) model: v̂ = V_hat + ε."""
