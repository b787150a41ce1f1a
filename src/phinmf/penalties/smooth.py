"""Smooth activations: μ_s Σ_k Σ_n d(h_{k,n-1} | h_kn) with the Itakura–Saito divergence d.

This is the penalty of Févotte (2011). It compares neighbours by their ratio, so it does not depend
on the scale of a component. Frames n-1 and n are compared only if they are linked: not across a gap
between recordings, and not beside a frame that has no weight or an activation that is 0.

For the other frames held fixed, the terms of one activation h are μ_s (b/h + h/a) up to a constant,
where b is the activation before and a the one after. The update of NMF without this penalty
minimises a function A/h + Bh, so both have the same form, and the exponent γ keeps its meaning. At
the ends of a chain μ_s (h/a - log h) or μ_s (b/h + log h) remains; -log h lies below h̃/h and log h
below h/h̃, up to constants, where h̃ is the present value. So a neighbour that is missing is
replaced by the frame itself, and the objective still never rises.

Only frames that are not neighbours are updated at the same time: those of even number, then those
of odd number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from phinmf import checks
from phinmf._types import Array, Mask
from phinmf.arrays import namespace
from phinmf.penalties.base import Penalty


@dataclass(frozen=True)
class Smooth(Penalty):
    """Any penalty, and smooth activations in addition.

    Parameters
    ----------
    beside : Penalty
        The penalty of the totals.
    smoothness : float
        μ_s, the weight of differences between neighbouring frames.
    """

    beside: Penalty
    smoothness: float

    def __post_init__(self) -> None:
        if not isinstance(self.beside, Penalty):
            raise TypeError(f"beside is {self.beside!r}, but a Penalty is needed")
        checked = checks.number("smoothness", self.smoothness, 0)
        object.__setattr__(self, "smoothness", checked)

    @property
    def weight(self) -> float:  # type: ignore[override]
        """The weight of the penalty of the totals."""
        return self.beside.weight

    @property
    def frame_rate(self) -> float:
        """That of the penalty of the totals."""
        return self.beside.frame_rate

    def cost(self, totals: Array) -> Array:
        """Return what the totals cost."""
        return self.beside.cost(totals)

    def rates(self, totals: Array) -> Array:
        """Return what a unit of each total costs."""
        return self.beside.rates(totals)


class Pull(NamedTuple):
    """What neighbours add to numerator and denominator of an update that are multiplied by h."""

    numerator: Array
    denominator: Array


def pull(h: Array, before: Array, after: Array, strength: Array) -> Pull:
    """Return μ_s b/h and μ_s h/a, for μ_s that may differ between frames.

    With numerator p and denominator q of the update without them, it becomes
    h ← h [(hp + μ_s b/h) / (hq + μ_s h/a)]^γ.
    """
    linked_before, linked_after = (h > 0) & (before > 0), (h > 0) & (after > 0)
    return Pull(
        strength * ratio(before, h, linked_before), strength * ratio(h, after, linked_after)
    )


def difference(h: Array, before: Array, linked: Mask) -> Array:
    """Return d(b | h) of each entry, 0 where there is no link."""
    xp = namespace(h)
    r = ratio(before, h, linked & (h > 0) & (before > 0))
    return r - xp.log(r) - 1


def ratio(a: Array, b: Array, where: Mask) -> Array:
    """Return a/b in some places, 1 in the others: a missing neighbour is the frame itself."""
    xp = namespace(a)
    one = xp.ones_like(b)
    return xp.where(where, a, one) / xp.where(where, b, one)
