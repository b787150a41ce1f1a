"""Removing components one by one: what the others can replace costs nothing."""

import numpy as np
import pytest

from phinmf.algorithm.elimination import Powers, eliminate
from phinmf.algorithm.model import Iterate, Model
from phinmf.algorithm.nmf import normalise
from phinmf.divergences import Gaussian, Penalty
from phinmf.engines import ENGINES

FLOOR = 0.02


@pytest.fixture
def factors(rng):
    W = rng.exponential(size=(20, 4)) ** 3
    H = rng.exponential(size=(4, 90)) * (rng.random((4, 90)) < 0.5)
    return (W / W.sum(axis=0)).astype(np.float32), (5 * H).astype(np.float32)


@pytest.mark.parametrize("same", ["spectrum", "activations"])
def test_half_of_a_component_is_replaced_without_a_cost(factors, rng, same):
    W, H = factors
    split = rng.random(90 if same == "spectrum" else 20).astype(np.float32)
    if same == "spectrum":
        W2, H2 = np.hstack([W, W[:, :1]]), np.vstack([H, split * H[0]])
        H2[0] -= split * H[0]
    else:
        W2, H2 = np.hstack([W, (split * W[:, 0])[:, None]]), np.vstack([H, H[:1]])
        W2[:, 0] -= W2[:, 4]
        W2, s = normalise(W2)
        H2 *= s[:, None]
    V = rng.chisquare(1, size=(20, 90)) * (W @ H + FLOOR)
    powers = Powers(V, np.ones(90), FLOOR, 0.1)
    before = powers.objective(W @ H + FLOOR, H.sum(axis=0))
    best = min(powers.replacements(W2, H2), key=lambda one: one.objective)
    assert best.component in (0, 4)
    assert best.in_activations == (same == "spectrum")
    after = best.applied(W2, H2)
    assert after[0].shape == W.shape
    away = np.linalg.norm(after[0] @ after[1] - W @ H)
    assert away < 0.05 * np.linalg.norm(W @ H)
    assert best.objective == pytest.approx(before, rel=0.02)


def test_the_path_ends_at_one_component(factors, rng):
    W, H = factors
    X = (rng.standard_normal((20, 90)) * np.sqrt(W @ H + FLOOR)).astype(np.float32)
    model = Model(ENGINES["array"](X[None], Gaussian()), Penalty(0.1))
    start = Iterate(np.eye(20, dtype=np.float32), W, H)
    model.rotate(start.Phi)
    path = eliminate(model, start, X**2, FLOOR)
    assert [at.number for at in path] == [4, 3, 2, 1]
    model.go_to(start)
    assert path[0].objective == pytest.approx(model.cost(W, FLOOR))
    assert path[-1].objective > path[0].objective
