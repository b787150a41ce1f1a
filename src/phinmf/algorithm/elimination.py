"""Remove components one by one, each time the one that the others replace best.

A component is replaced in one of two ways. Its column of W is written as a nonnegative combination
of the other columns, whose activations take over its own; or its activations are written as a
combination of the other activations, whose columns take over its column. The first joins components
of the same spectrum, the second those that always sound together: an over-complete fit has many of
both. The cheapest replacement is made, and a few NMF steps follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from phinmf._types import Array
from phinmf.algorithm.model import Iterate, Model
from phinmf.algorithm.nmf import normalise
from phinmf.divergences import Gaussian

STEPS = 30  #: NMF steps after each replacement: before the end, superfluous components gain too
COMPARED = 40_000  #: coefficients that are enough to compare replacements
UPDATES = 60  #: multiplicative updates of a combination
TINY = 1e-30


class Count(NamedTuple):
    """A number of components, and the objective of the best factors of that number."""

    number: int
    objective: float


class Replacement(NamedTuple):
    """How the other components replace one of them."""

    objective: float
    component: int
    shares: Array  #: (K,): of the component, for each of the others
    in_activations: bool  #: whether the activations of the others take it over, or their columns

    def applied(self, W: Array, H: Array) -> tuple[Array, Array]:
        """Return the factors without the component; the columns of W have sum 1."""
        k, others = self.component, np.arange(len(H)) != self.component
        if self.in_activations:
            return W[:, others], (H + np.outer(self.shares, H[k]))[others]
        W, s = normalise((W + np.outer(W[:, k], self.shares))[:, others])
        return W, H[others] * s[:, None]


@dataclass(frozen=True)
class Powers:
    """The power of some frames, and what the Gaussian likelihood of a model of them is."""

    V: Array  #: (M, n)
    weights: Array  #: (n,)
    floor: float
    sparsity: float

    def objective(self, V_hat: Array, activation: Array) -> float:
        """Return Σ f + μ Σ h, weighted, for a model (M, n) and the sums of its activations (n,)."""
        V_hat = np.maximum(V_hat, self.floor)
        of_frames = np.sum(Gaussian().value(self.V, V_hat, self.floor), axis=0)
        return float((of_frames + self.sparsity * activation) @ self.weights)

    def replacements(self, W: Array, H: Array) -> Iterator[Replacement]:
        """Yield two replacements of each component."""
        V_hat, total = W @ H + self.floor, H.sum(axis=0)
        spectra, activity = combinations(W.T @ W), combinations(H @ H.T)
        for k in range(W.shape[1]):
            w, h = W[:, k], H[k]
            shares = spectra[:, k]
            without = W @ shares - w
            change = (shares.sum() - 1) * h
            objective = self.objective(V_hat + np.outer(without, h), total + change)
            yield Replacement(objective, k, shares, True)
            shares = activity[:, k]
            change = shares @ H - h
            objective = self.objective(V_hat + np.outer(w, change), total + change)
            yield Replacement(objective, k, shares, False)


def combinations(gram: Array) -> Array:
    """Return (K, K), in column k a combination of the other vectors near vector k.

    The products of all vectors are given; they are nonnegative, and so are the combinations, which
    multiplicative updates find.
    """
    gram = gram.astype(np.float64)
    shares = 1.0 - np.eye(len(gram))
    for _ in range(UPDATES):
        shares *= gram / np.maximum(gram @ shares, TINY)
    return shares.astype(np.float32)


def eliminate(model: Model, start: Iterate, V: Array, eps: float) -> list[Count]:
    """Remove components down to one, and return the objective of each number of them."""
    weights = model.engine.weights
    M, N = V.shape
    every = max(1, N // max(64, COMPARED // M))
    powers = Powers(V[:, ::every], weights[::every], eps, model.penalty.sparsity)
    model.go_to(start)
    Phi, W, H = start.Phi, start.W, start.H
    path = [Count(W.shape[1], sum(model.costs(W, eps)))]
    while W.shape[1] > 1:
        replacements = powers.replacements(W, H[:, ::every])
        W, H = min(replacements, key=lambda r: r.objective).applied(W, H)
        model.go_to(Iterate(Phi, W, H))
        W = model.nmf(W, eps, gamma=1.0, n_iter=STEPS)
        H = model.engine.activations()
        path.append(Count(W.shape[1], sum(model.costs(W, eps))))
    return path
