"""Sums over all frames that were seen, which fade: what the dictionary of a stream is learned from.

For fixed activations, the β-divergence of a frame from the model lies below a function of W that
touches it at W̃, the dictionary at the time (Lefèvre, Bach and Févotte 2011 for Itakura–Saito):

    β ≤ 1:      w̃^(2-β) p w^(β-1) / (1-β) + q w            (-p w̃ log w + q w if β = 1)
    1 < β ≤ 2:  -w̃^(2-β) p w^(β-1) / (β-1) + w̃^(1-β) q w^β / β
    2 < β:      -p w + w̃^(1-β) q w^β / β

where p and q are entries of PHᵀ and QHᵀ. Each has its minimum at w = (A/B)^γ with A = w̃^a p,
B = w̃^b q, a = max(0, 2-β), b = min(0, 1-β) and γ = 1/(a-b). Sums of such functions have the same
form, so that two matrices A and B, summed over frames, stand for everything that was seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from phinmf._types import Array
from phinmf.algorithm.model import Model
from phinmf.algorithm.nmf import free_columns, normalise, pressure_on
from phinmf.arrays import at_most, cast, copied, divided, namespace
from phinmf.divergences import Divergence
from phinmf.engines import DictionarySums
from phinmf.linalg.multiplicative import LEAST


class Exponents(NamedTuple):
    """a and b: the powers of w̃ in the sums A and B."""

    a: float
    b: float

    @classmethod
    def of(cls, divergence: Divergence) -> Exponents:
        """Return those of the β-divergence of the same degree.

        The fixed points of W are right for any divergence; the proof that the cost never rises
        holds for those that are β-divergences as functions of v̂.
        """
        beta = divergence.degree
        return cls(max(0.0, 2 - beta), min(0.0, 1 - beta))


@dataclass(frozen=True)
class FadingSums:
    """A, B and H1 of all frames seen, in double precision and at unit power; old ones count less.

    Rows belong to atoms, so the sums are made anew from a sample of frames when Φ has moved far.
    """

    numerator: Array  #: (M, K): A = Σ w̃^a PHᵀ
    denominator: Array  #: (M, K): B = Σ w̃^b QHᵀ
    activation: Array  #: (K,): Σ H1
    exponents: Exponents

    @classmethod
    def of(cls, sums: DictionarySums, W: Array, exponents: Exponents) -> FadingSums:
        """The sums of some frames, whose P and Q are those of W."""
        a, b = exponents
        return cls(
            to_the(W, a) * cast(sums.numerator, np.float64),
            to_the(W, b) * cast(sums.denominator, np.float64),
            copied(sums.activation, np.float64),
            exponents,
        )

    def __add__(self, other: FadingSums) -> FadingSums:
        return FadingSums(
            self.numerator + other.numerator,
            self.denominator + other.denominator,
            self.activation + other.activation,
            self.exponents,
        )

    def times(self, factor: float) -> FadingSums:
        """The sums if every frame counted so many times."""
        A, B, h = self.numerator, self.denominator, self.activation
        return FadingSums(factor * A, factor * B, factor * h, self.exponents)

    def in_unit(self, factor: float, degree: float) -> FadingSums:
        """The sums of frames whose power is multiplied by a factor."""
        grown = self.times(factor**degree)
        return FadingSums(
            grown.numerator, grown.denominator, factor * self.activation, self.exponents
        )

    def with_columns_divided(self, s: Array) -> FadingSums:
        """The sums after columns of W were divided by s and activations multiplied by it."""
        a, b = self.exponents
        return FadingSums(
            self.numerator * s ** (1 - a),
            self.denominator * s ** (1 - b),
            self.activation * s,
            self.exponents,
        )

    def best_dictionary(self, W: Array, model: Model) -> Array:
        """Return the minimum of the function that the sums stand for; W where that is undefined."""
        a, b = self.exponents
        pressure = pressure_on(W, self.activation, model.penalty)
        denominator = self.denominator + to_the(W, b) * pressure
        xp = namespace(W)
        ratio = divided(self.numerator, denominator, to_the(W, a - b))
        found = xp.maximum(ratio ** (1 / (a - b)), at_most(W, LEAST))
        free = free_columns(W, model.kept.columns)
        return found if free is None else xp.where(free, found, W)


def learn_dictionary(
    model: Model, W: Array, past: FadingSums, eps: float, n_iter: int
) -> tuple[Array, FadingSums]:
    """Update the activations of a block and W, in turn, `n_iter` times.

    `past` are the sums of earlier frames. The cost of the block and of what `past` stands for never
    rises. Return W and the sums that include the block.
    """
    engine, divergence = model.engine, model.engine.divergence
    free = free_columns(W, model.kept.columns)
    for _ in range(n_iter):
        sums = engine.nmf_pass(cast(W, engine.dtype), model.penalty, eps, divergence.max_exponent)
        here = past + FadingSums.of(sums, W, past.exponents)
        W, s = normalise(here.best_dictionary(W, model), free)
        engine.scale_activations(cast(s, engine.dtype))
        past, here = past.with_columns_divided(s), here.with_columns_divided(s)
    return W, here


def to_the(W: Array, power: float) -> Array:
    """W^power, entry by entry; 1 for a negative power of 0, whose sums are 0 too."""
    if power >= 0:
        return W**power
    return namespace(W).where(W > 0, W, 1.0) ** power
