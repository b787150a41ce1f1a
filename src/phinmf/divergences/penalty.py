"""The penalty that is added to the divergence: sparse and smooth activations.

Smooth activations cost μ_s Σ_k Σ_n d(h_{k,n-1} | h_kn) with the Itakura–Saito divergence d
(Févotte 2011). It compares neighbours by their ratio, so it does not depend on the scale of a
component. Frames n-1 and n are compared only if they are linked: not across a frame that has no
weight, and not beside an activation that is 0.

While the other frames do not change, the terms of one activation h are μ_s (b/h + h/a) up to a
constant, where b is the activation before and a the one after. The update of NMF without this
penalty minimises a function A/h + Bh, so both have the same form, and the exponent γ keeps its
meaning. At the ends of a chain μ_s (h/a - log h) or μ_s (b/h + log h) remains; -log h lies below
h̃/h and log h below h/h̃, up to constants, where h̃ is the present value. So a neighbour that is
missing is replaced by the frame itself, and the objective still never rises.

Only frames that are not neighbours are updated at the same time: those of even number, then those
of odd number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from phinmf._types import Array, Mask
from phinmf.arrays import namespace

#: Factor by which neighbours may raise an activation in one update. A tiny one beside loud ones
#: would leave the range of single precision; any smaller step to the same side lowers the cost.
MOST_GROWTH = 1e12


@dataclass(frozen=True)
class Penalty:
    """The penalty of (2), μ Σ_k ‖w_k‖₁ ‖h_k‖₁, and that of smooth activations.

    The first term does not change when a column of W is divided by a number and the row of H is
    multiplied by it. As columns of W have sum 1, a unit of any activation costs μ.

    Parameters
    ----------
    sparsity : float
        μ, at unit power of the frames: the `sparsity` of `tl_nmf`.
    smoothness : float
        μ_s, the weight of differences between the activations of neighbouring frames.
    """

    sparsity: float
    smoothness: float = 0.0


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
    """Return a/b where `where` is True, 1 elsewhere: a missing neighbour is the frame itself."""
    xp = namespace(a)
    ones = xp.ones_like(b)
    return xp.where(where, a, ones) / xp.where(where, b, ones)
