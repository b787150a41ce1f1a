"""The contract of a divergence, and the update of a factor that its `nmf_split` leads to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import IntEnum
from typing import ClassVar, TypeAlias

from phinmf._types import Array
from phinmf.arrays import divided, namespace
from phinmf.errors import InvalidType

LEAST = 1e-20  #: positive entries of W and H stay above it, so that they can grow at a lower floor

#: An array or a tensor of any shape, or one number: every formula is elementwise and broadcasts.
Entries: TypeAlias = Array


class Family(IntEnum):
    """The formulas that compiled kernels are made for."""

    GAUSSIAN = 0
    ITAKURA_SAITO = 1
    KULLBACK_LEIBLER = 2
    EUCLIDEAN = 3
    SQUARE_ROOT = 4  #: the β-divergence with β = ½


class Divergence(ABC):
    """Elementwise formulas in the power v, the model v̂ = [WH] + ε and the floor ε.

    One coefficient x has v = x²; channels that share Φ, W and H have v = mean_c x_c², and
    f'(x_c) = slope · x_c holds for each of them. Write the formulas with functions of the array
    API only (`phinmf.arrays.namespace`), so that they accept numbers, arrays and tensors.

    Attributes
    ----------
    max_exponent : float
        Largest γ for which the updates of W and H with `nmf_split` never raise the objective.
    smooth_updates : bool
        Whether they can be combined with smooth activations: the cost as a function of one
        activation h must lie below A/h + Bh, with equal value and slope at the present h.
    degree : float
        Power of s by which the divergence grows if v, v̂ and ε are all multiplied by s.
    default_sparsity : float
        Weight of the penalty, at unit power, where none is named.
    has_nmf_split : bool
        False if there is no `nmf_split`: then the divergence serves `learn_transform` only.
    """

    max_exponent: float = 1.0
    smooth_updates: bool = True
    degree: float = 0.0
    default_sparsity: float = 10.0
    has_nmf_split: ClassVar[bool] = True

    @abstractmethod
    def value(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """Return f(x), the summand of (3)."""

    @abstractmethod
    def slope(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """Return f'(x) / x, of which (8) makes the gradient."""

    @abstractmethod
    def curvature(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """Return f''(x), as in (9): exact, and perhaps negative."""

    @abstractmethod
    def bound(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """Return b(x) ≥ f''(x), never negative, for (11)."""

    def nmf_split(self, v: Entries, v_hat: Entries, eps: float) -> tuple[Entries, Entries]:
        """Return P, Q ≥ 0 with ∂f/∂v̂ = Q - P: numerator and denominator of the NMF updates."""
        raise InvalidType(
            f"{type(self).__name__} has no nmf_split: write it, or declare has_nmf_split = False"
            " and use the divergence with learn_transform only"
        )


def multiply(F: Array, numerator: Array, denominator: Array, gamma: float) -> Array:
    """F ∘ [numerator / denominator]^γ of §2.2 for a factor F, W or H, where 0/0 is 1.

    γ = ½ is majorisation–minimisation, γ = 1 majorisation–equalisation: neither raises the cost.
    """
    xp = namespace(F)
    ratio = divided(numerator, denominator, xp.ones_like(F))
    return xp.maximum(F * (ratio if gamma == 1 else ratio**gamma), F.clip(max=LEAST))
