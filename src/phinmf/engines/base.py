"""The contract of an engine.

Everything the algorithm needs from the data is a sum over frames, and the activations of a frame
depend on that frame alone. So every array with an axis of frames (Y, X, H) is held by an engine,
and every M×M or M×K matrix (Φ, W, G, h) by the algorithm. An engine computes and decides nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import AnyArray, Array, Indices, Mask, Precision
from phinmf.arrays import dtype_of
from phinmf.arrays.cluster import Future
from phinmf.divergences import Divergence, Penalty, compiled_family
from phinmf.linalg.algebra import Algebra

OutOfTime = Callable[[], bool]  #: whether the time limit is reached


def never() -> bool:
    """Return False: there is no time limit."""
    return False


class Evaluation(NamedTuple):
    """L and its derivative at one transform."""

    loss: float  #: L
    G: Array  #: (M, M), equation (8)


class DictionarySums(NamedTuple):
    """The sums over frames that the update of W needs."""

    numerator: Array  #: (M, K), PHᵀ
    denominator: Array  #: (M, K), QHᵀ
    activation: Array  #: (K,), H1


class LazyActivations:
    """H (K, N) of one moment that stays on the workers of a cluster until `fetch` reads it."""

    def __init__(
        self, shape: tuple[int, int], futures: list[Future], gather: Callable[[list[Future]], Array]
    ) -> None:
        """Refer to futures of the shards' H, which nothing changes, and to how they are read."""
        self.shape = shape
        self.futures = futures
        self._gather = gather

    def fetch(self) -> Array:
        """Return the numbers."""
        return self._gather(self.futures)


Activations: TypeAlias = Array | LazyActivations


def as_array(H: Activations) -> Array:
    """Return activations (K, N) as an array."""
    return H.fetch() if isinstance(H, LazyActivations) else H


class Objective(ABC):
    """L(TΦ) = Σ f(TX) of (3) as a function of T; valid until W or H changes."""

    algebra: Algebra  #: computes with M×M matrices on the device and the threads of the engine
    evaluations: int = 0  #: number of evaluations of the loss since the objective was made
    atoms_per_power: int = 1  #: 2 if the atoms 2p and 2p + 1 share their power
    out_of_time: OutOfTime = staticmethod(never)  #: solvers check it after every step

    @abstractmethod
    def evaluate(self, T: Array | None = None) -> Evaluation:
        """Loss and gradient at TX; None stands for the identity."""

    @abstractmethod
    def loss(self) -> float:
        """Loss at X without its gradient; not counted as an evaluation."""

    @abstractmethod
    def move(self, T: Array) -> None:
        """X ← TX; costs nothing if T was the last one evaluated."""

    @abstractmethod
    def bound(self) -> Array:
        """h_ij = Σ_n b(x_in) x_jn² of (12) at X."""

    @abstractmethod
    def curvature(self) -> Array:
        """Σ_n f''(x_in) x_jn² at X, the first term of (9)'s diagonal."""

    def pair_losses(self, p: Indices, q: Indices, angles: Array) -> Array:
        """Loss of rows p and q after R_pq(θ), for each pair and each of its angles.

        The indices and the angles (pairs, angles) are on the host, and so is the result. Only
        engines that declare `Engine.pair_losses` compute it.
        """
        raise NotImplementedError(f"{type(self).__name__} computes no losses of pairs of atoms")


class Engine(ABC):
    """Frames Y at unit power, their transform X = ΦY, and the activations H."""

    # what an engine can do, declared by its class
    tensors: bool = False  #: whether frames may be a tensor of PyTorch
    dask_arrays: bool = False  #: whether frames may be a dask array
    compiled_only: bool = False  #: whether it computes only what the compiled kernels know
    pair_losses: bool = False  #: whether its objectives compute losses of pairs of atoms

    algebra: Algebra

    def __init__(
        self,
        Y: AnyArray,
        divergence: Divergence,
        n_threads: int | None = None,
        weights: Array | None = None,
        links: Mask | None = None,
    ) -> None:
        """Hold frames Y (C, M, N), which are never changed; without weights each counts once.

        Without links each frame follows the one before it, unless one of them has no weight.
        """
        #: number of channels, window length, number of frames
        self.shape: tuple[int, int, int] = tuple(Y.shape)
        self.dtype: Precision = dtype_of(Y)
        self.divergence = divergence
        #: (N,): how many frames each frame counts for in every sum; on the host
        self.weights: Array = np.ones(Y.shape[2]) if weights is None else weights
        #: (N,), on the host: whether a frame follows the one before it; the first one does not,
        #: and a frame of weight 0 is linked to none
        self.links = np.ones(Y.shape[2], bool) if links is None else links.copy()
        self.links[:1] = False
        self.links[1:] &= (self.weights[1:] > 0) & (self.weights[:-1] > 0)

    @classmethod
    def supports(cls, divergence: Divergence) -> bool:
        """Whether this engine can compute with a divergence."""
        return not cls.compiled_only or compiled_family(divergence) is not None

    def __enter__(self) -> Engine:
        """Start threads or reserve a device for the calls that follow."""
        return self

    def __exit__(self, *_: object) -> None:  # noqa: B027
        """Free them."""

    @abstractmethod
    def subset(
        self, frames: Indices | slice, dtype: DTypeLike, weights: Array, atoms: Array | None = None
    ) -> Engine:
        """Return an engine of some of the frames, in another precision.

        If atoms (P, M) are given, it holds their products with these frames: P samples each.
        Indices and weights are on the host.
        """

    @abstractmethod
    def rest(self) -> None:
        """Free the memory of X; `rotate` must be called before anything else."""

    @abstractmethod
    def rotate(self, Phi: Array) -> None:
        """X ← ΦY, computed from Y so that rounding errors do not accumulate."""

    @abstractmethod
    def powers(self) -> Array:
        """(N,): mean power of each frame, over its samples and channels."""

    @abstractmethod
    def energies(self) -> Array:
        """(M,): e_i = Σ_n v_in, the energy of each atom, weighted."""

    @abstractmethod
    def activations(self) -> Array:
        """(K, N): a copy of H."""

    def lazy_activations(self) -> Activations:
        """H as it is now, to go back to: a copy, or a reference to where the frames are."""
        return self.activations()

    @abstractmethod
    def set_activations(self, H: Activations) -> None:
        """Replace H by a copy of this one."""

    @abstractmethod
    def scale_activations(self, s: Array) -> None:
        """h_k ← s_k h_k."""

    @abstractmethod
    def nmf_pass(self, W: Array, penalty: Penalty, eps: float, gamma: float) -> DictionarySums:
        """Update H given W, then return the sums for the update of W at the new H.

        γ is the exponent of the update; γ = 0 keeps H. If the penalty asks for smooth activations,
        frames of even number are updated before those of odd number.
        """

    @abstractmethod
    def converge_activations(
        self, W: Array, penalty: Penalty, eps: float, tol: float, max_updates: int
    ) -> None:
        """Update H given W, with γ = 1, until each frame has converged.

        A frame has converged when `sums.CHECK_EVERY` updates lower its cost by at most tol
        per entry. It gets at most `max_updates` updates, and its result does not depend on other
        frames: neighbours do not matter, even if activations are smooth.
        """

    @abstractmethod
    def activation_sums(self) -> Array:
        """(K,): H1, weighted."""

    def roughness(self) -> float:
        """Σ_k Σ_n d(h_{k,n-1} | h_kn) over linked frames: what a smoothness of 1 costs.

        Only engines whose activations can be smooth compute it.
        """
        raise NotImplementedError(f"{type(self).__name__} does not smooth activations")

    @abstractmethod
    def objective(self, W: Array, eps: float) -> Objective:
        """L with v̂ = WH + ε."""

    @abstractmethod
    def objective_of(self, V_hat: Array, eps: float) -> Objective:
        """L with a given (M, N) model: v̂ = V_hat + ε."""


def links_among(frames: Indices | slice | Mask, links: Mask) -> Mask:
    """Return which of some frames still follow the one before them."""
    chosen = np.arange(len(links))[frames]
    follows = links[chosen]
    follows[1:] &= chosen[1:] == chosen[:-1] + 1
    return follows
