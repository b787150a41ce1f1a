"""The contract of a penalty: what W and H cost beside the divergence, and its derivatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from phinmf._types import Array
from phinmf.arrays import namespace


class Penalty(ABC):
    """A cost of the factors that is added to the divergence.

    It is a function of t_k = ‖w_k‖₁ ‖h_k‖₁, the total of each component, with sums weighted by the
    weights of frames; so it does not change when a column of W is divided by a number and the row
    of H is multiplied by it. It must not fall as a total grows, and must be linear or concave in
    each: a multiplicative update that adds its derivative to a denominator then never raises the
    objective. In addition it may ask for smooth activations (`smoothness`).

    Attributes
    ----------
    weight : float
        Its weight at unit power; 0 switches it off.
    linear : bool
        Whether its derivative is `frame_rate` for every component and whatever the totals. Then an
        engine need not compute these, and a stream of frames can be learned from; it is verified.
    smoothness : float
        Weight of the differences between the activations of neighbouring frames (`smooth.py`).
    """

    weight: float
    linear: ClassVar[bool] = False
    smoothness: float = 0.0

    @abstractmethod
    def cost(self, totals: Array) -> Array:
        """Return the penalty of totals (K,), without that of differences."""

    @abstractmethod
    def rates(self, totals: Array) -> Array:
        """Return (K,), the derivative of `cost` by each total."""

    @property
    def frame_rate(self) -> float:
        """What a unit of activation costs in a frame by itself, where W is known."""
        return self.weight

    def flat_level(self, powers: Array) -> Array:
        """Return the constant model of each frame where H starts: the best one for Itakura–Saito.

        For a frame of mean power p it minimises p/s + log s + μs over s, where μ is `frame_rate`:
        p if μ = 0, about √(p/μ) if μ is large. It depends on that frame alone.
        """
        return 2 * powers / (1 + namespace(powers).sqrt(1 + 4 * self.frame_rate * powers))
