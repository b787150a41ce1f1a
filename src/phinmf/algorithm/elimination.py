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
from scipy.optimize import nnls

from phinmf._types import Array
from phinmf.algorithm.model import Iterate, Model
from phinmf.algorithm.nmf import normalise

STEPS = 6  #: NMF steps after each replacement
STRIDE = 3  #: every third frame is enough to compare replacements
RIDGE = 1e-9  #: relative; makes a combination unique where components are equal


class Count(NamedTuple):
    """A number of components, and the objective of the best factors that were found for it."""

    number: int
    objective: float


class Replacement(NamedTuple):
    """How the other components replace one of them."""

    objective: float
    component: int
    shares: Array  #: (K - 1,): of the component, for each of the others
    in_activations: bool  #: whether the activations of the others take it over, or their columns

    def applied(self, W: Array, H: Array) -> tuple[Array, Array]:
        """Return the factors without the component; the columns of W have sum 1."""
        w, h = W[:, self.component], H[self.component]
        W, H = np.delete(W, self.component, axis=1), np.delete(H, self.component, axis=0)
        if self.in_activations:
            return W, H + np.outer(self.shares, h)
        W, s = normalise(W + np.outer(w, self.shares))
        return W, H * s[:, None]


@dataclass(frozen=True)
class Powers:
    """The power of some frames, and what the Gaussian likelihood of a model of them is."""

    V: Array  #: (M, n), with the floor
    weights: Array  #: (n,)
    floor: float
    sparsity: float

    def objective(self, V_hat: Array, activations: Array) -> float:
        """Return Σ (v/v̂ + log v̂) + μ Σ h, weighted, for activations (K, n)."""
        V_hat = np.maximum(V_hat, self.floor)
        of_frames = (self.V / V_hat + np.log(V_hat)).sum(axis=0, dtype=np.float64)
        return float((of_frames + self.sparsity * activations.sum(axis=0)) @ self.weights)

    def replacements(self, W: Array, H: Array) -> Iterator[Replacement]:
        """Yield two replacements of each component."""
        V_hat = W @ H + self.floor
        spectra, activity = W.T @ W, H @ H.T
        for k in range(W.shape[1]):
            w, h = W[:, k], H[k]
            shares = combination(spectra, k)
            without = np.delete(W, k, axis=1) @ shares - w
            change = (shares.sum() - 1) * h
            V_new, H_new = V_hat + np.outer(without, h), np.vstack([H, change])
            yield Replacement(self.objective(V_new, H_new), k, shares, True)
            shares = combination(activity, k)
            change = shares @ np.delete(H, k, axis=0) - h
            V_new, H_new = V_hat + np.outer(w, change), np.vstack([H, change])
            yield Replacement(self.objective(V_new, H_new), k, shares, False)


def combination(gram: Array, k: int) -> Array:
    """Return the nonnegative combination of other vectors nearest to one, given all products."""
    gram = gram.astype(np.float64)
    others = np.arange(len(gram)) != k
    within = gram[np.ix_(others, others)]
    within += RIDGE * np.trace(gram) / len(gram) * np.eye(len(within))
    root = np.linalg.cholesky(within)
    return nnls(root.T, np.linalg.solve(root, gram[others, k]))[0].astype(np.float32)


def eliminate(model: Model, start: Iterate, V: Array, eps: float) -> list[Count]:
    """Remove components down to one, and return the objective of each number of them."""
    weights = model.engine.weights
    some = Powers(V[:, ::STRIDE] + eps, weights[::STRIDE], eps, model.penalty.weight)
    at = start
    model.go_to(at)
    path = [Count(at.W.shape[1], model.cost(at.W, eps))]
    while at.W.shape[1] > 1:
        found = min(some.replacements(at.W, at.H[:, ::STRIDE]), key=lambda one: one.objective)
        W, H = found.applied(at.W, at.H)
        model.go_to(Iterate(at.Phi, W, H))
        W = model.nmf(W, eps, gamma=1.0, n_iter=STEPS)
        at = Iterate(at.Phi, W, model.engine.activations())
        path.append(Count(W.shape[1], model.cost(W, eps)))
    return path
