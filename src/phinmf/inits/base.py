"""The contract of an init: where Φ starts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import AnyArray, Array
from phinmf.inits.covariance import karhunen_loeve


@dataclass(frozen=True)
class Frames:
    """The frames of a fit, which an init may look at."""

    Y: AnyArray  #: (C, M, N) at unit power: an array, a tensor or a dask array
    weights: Array | None = None  #: (N,), on the host: how often each frame counts; None is 1
    #: the same frames in the order of time; None: these already are
    in_time: Frames | None = field(default=None, repr=False)

    @property
    def M(self) -> int:
        """The number of samples in a frame."""
        return int(self.Y.shape[1])

    @property
    def karhunen_loeve(self) -> tuple[Array, Array]:
        """The eigenvectors of the covariance as rows, strongest first, and their mean powers.

        They are computed once. (`functools.cached_property` holds a lock meanwhile before Python
        3.12, which a child process that is forked then would wait for.)
        """
        if "_karhunen_loeve" not in vars(self):
            vars(self)["_karhunen_loeve"] = karhunen_loeve(self.Y, self.weights)
        pair: tuple[Array, Array] = vars(self)["_karhunen_loeve"]
        return pair


class Init(ABC):
    """A way to choose the orthogonal M×M transform that a fit starts from.

    Attributes
    ----------
    draws : bool
        Whether it draws random numbers; if not, all restarts share one start.
    all_atoms : bool
        Whether a run begins with all of its atoms, because the transform was learned before.
    counts : bool
        Whether components can be counted in the start, before anything is learned.
    """

    draws: ClassVar[bool] = True
    all_atoms: ClassVar[bool] = False
    counts: ClassVar[bool] = False

    @abstractmethod
    def start(self, frames: Frames, rng: np.random.Generator, dtype: DTypeLike) -> Array:
        """Return Φ (M, M) in the precision `dtype`, orthogonal up to rounding.

        All random numbers come from `rng`. Φ may be on the host or where the frames are.
        """
