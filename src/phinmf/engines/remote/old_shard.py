"""The contract of a shard: a stretch of blocks of frames and its state.

An engine calls the same method on every shard and puts the results together, so a shard may be
anywhere: in this process, on a worker of a cluster, on disk.

Each method declares next to it which state it reads and which it changes. Nothing else is needed
to know which calls bring a lost shard back (`remote/journal.py`), and which calls need frames in
memory (`remote/disk.py`). A method that changes X changes nothing else but the trial point and
returns nothing, so that it can be deferred.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from phinmf._types import Array
from phinmf.engines.compiled.summation import Node

Nodes = list[Node]  #: partial sums over the blocks of a shard
Method = TypeVar("Method", bound=Callable[..., Any])

STATE = frozenset({"Y", "X", "H", "kept", "V_hat", "trial"})  #: attributes of a shard
LASTING = frozenset({"X", "H", "kept", "V_hat"})  #: what a shard that is made again must have again


@dataclass(frozen=True)
class Access:
    """Which state a method reads and which it changes."""

    reads: frozenset[str]
    changes: frozenset[str]
    restored_by: str | None  #: the method that sets what this one returns
    returns: str  #: the type of what it returns, by its name

    @property
    def overwrites(self) -> frozenset[str]:
        """State that does not depend on what it was before."""
        return self.changes - self.reads


ACCESS: dict[str, Access] = {}  #: by the name of the method


def access(
    *, reads: str = "", changes: str = "", restored_by: str | None = None
) -> Callable[[Method], Method]:
    """Declare the state that a method reads and changes, as names separated by spaces."""
    read, changed = frozenset(reads.split()), frozenset(changes.split())
    assert read | changed <= STATE, read | changed

    def declare(method: Method) -> Method:
        returns = method.__annotations__["return"]
        ACCESS[method.__name__] = Access(read, changed, restored_by, returns)
        return method

    return declare


class Shard(ABC):
    """Some blocks of frames Y, their transform X = ΦY and their activations H.

    Arrays have the frames first: `rows` of H or V̂ are frames. W is None where the model of the
    power is the given V̂ instead of WH. What is summed over frames is returned as nodes of the tree
    over all blocks (`summation.py`).
    """

    Y: Array  #: (C, n, M), never changed
    X: Array  #: (C, n, M)
    H: Array  #: (n, K)
    kept: Array  #: (n, K): earlier activations, to go back to
    V_hat: Array | None  #: (n, M): a given model of the power
    trial: Array | None  #: (C, n, M): TX of the last T that was evaluated, until X changes

    # the transform

    @abstractmethod
    @access(reads="Y", changes="X trial")
    def rest(self) -> None:
        """X ← Y, and free the memory of X and of the trial point."""

    @abstractmethod
    @access(reads="Y", changes="X trial")
    def rotate(self, Phi: Array) -> None:
        """X ← ΦY."""

    @abstractmethod
    @access(reads="X trial", changes="X trial")
    def move(self, T: Array | None) -> None:
        """X ← TX; None stands for the T of the trial point."""

    # values for each frame

    @abstractmethod
    @access(reads="Y")
    def powers(self) -> Array:
        """(n,): mean power of each frame, over its samples and channels."""

    @abstractmethod
    @access(reads="H", restored_by="set_activations")
    def activations(self) -> Array:
        """(n, K): a copy of H."""

    @abstractmethod
    @access(changes="H")
    def set_activations(self, H: Array) -> None:
        """Replace H by a copy of this one."""

    @abstractmethod
    @access(reads="H", changes="kept")
    def keep_activations(self) -> None:
        """Keep a copy of H."""

    @abstractmethod
    @access(reads="kept", changes="H")
    def restore_activations(self) -> None:
        """Replace H by a copy of what was kept."""

    @abstractmethod
    @access(reads="kept")
    def kept_activations(self) -> Array:
        """(n, K): a copy of what was kept."""

    @abstractmethod
    @access(reads="H", changes="H")
    def scale_activations(self, s: Array) -> None:
        """h_k ← s_k h_k."""

    @abstractmethod
    @access(changes="V_hat")
    def set_model(self, V_hat: Array) -> None:
        """Hold a given model (n, M) of the power."""

    @abstractmethod
    @access(reads="X H", changes="H")
    def converge_activations(
        self, W: Array, mu: float, eps: float, tol: float, max_updates: int
    ) -> None:
        """Update H given W until each frame converges, as `Engine.converge_activations` says."""

    # sums over frames

    @abstractmethod
    @access(reads="X")
    def energies(self) -> Nodes:
        """(M,): energy of each atom, weighted, summed over channels."""

    @abstractmethod
    @access(reads="H")
    def activation_sums(self) -> Nodes:
        """(K,): H1, weighted."""

    @abstractmethod
    @access(reads="X H", changes="H")
    def nmf_pass(self, W: Array, rates: Array, eps: float, gamma: float) -> Nodes:
        """Update H given W, then sum (PHᵀ)ᵀ, (QHᵀ)ᵀ and H1 at the new H; γ = 0 keeps H.

        `rates` (K,) is what the penalty adds to the denominators of H.
        """

    @abstractmethod
    @access(reads="X H V_hat", changes="trial")
    def at(self, W: Array | None, eps: float, T: Array | None) -> Nodes:
        """Loss at TX and C times its gradient; TX becomes the trial point. None: at X."""

    @abstractmethod
    @access(reads="X H V_hat")
    def loss(self, W: Array | None, eps: float) -> Nodes:
        """Loss at X."""

    @abstractmethod
    @access(reads="X H V_hat")
    def curvature(self, W: Array | None, eps: float, exact: bool) -> Nodes:
        """Σ_n f''(x_in) x_jn² at X if exact, and the same with the bound b of (12) for f''."""
