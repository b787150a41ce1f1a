"""The contract of a penalty: what it costs, and what an NMF step adds to its denominators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from phinmf._types import Array


class Penalty(ABC):
    """A cost of W and H that is added to the divergence.

    A multiplicative update of a factor F adds the derivative of the penalty to its denominator:
    F ← F∘[numerator / (denominator + derivative)]^γ. The objective never rises if the penalty is
    linear or concave in each factor, does not fall as the factor grows, and does not change when a
    column of W is divided by a number and the row of H is multiplied by it.

    Attributes
    ----------
    weight : float
        μ at unit power; 0 switches the penalty off.
    compiled : bool
        Whether the kernels compute this penalty: they add μ to the denominators of H and μ(H1)ᵀ
        to each row of those of W. With False, the default, fits run on the readable array engine.
    """

    weight: float
    compiled: ClassVar[bool] = False

    @abstractmethod
    def on_activations(self, H: Array) -> Array | float:
        """Return the derivative by H (…, K, N), where the columns of W sum to 1."""

    @abstractmethod
    def on_dictionary(self, activation: Array) -> Array:
        """Return (…, K), the derivative by each row of W, given H1 (…, K), weighted."""

    @abstractmethod
    def cost(self, W: Array, activation: Array) -> float:
        """Return the penalty of W (M, K), given H1 (K,), weighted and in double precision."""

    @abstractmethod
    def frame_costs(self, H: Array) -> Array:
        """Return (…, N), the penalty of each frame, where the columns of W sum to 1."""

    @abstractmethod
    def flat_level(self, powers: Array) -> Array:
        """Return the constant model of each frame where H starts: the best one for Itakura–Saito.

        For a frame of mean power p it minimises p/s + log s + the penalty of s over s. It depends
        on that frame alone.
        """
