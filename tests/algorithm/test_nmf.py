import numpy as np
import pytest
from problems import Problem

from phinmf.algorithm.nmf import FixedFactors, flat_activations, nmf_step
from phinmf.divergences import Penalty
from phinmf.divergences.base import multiply


def test_zero_divided_by_zero_is_one_in_an_update():
    F = np.array([2.0, 3.0])
    assert np.array_equal(multiply(F, np.array([0.0, 8.0]), np.array([0.0, 2.0]), 1), [2, 12])
    assert np.array_equal(multiply(F, np.array([0.0, 8.0]), np.array([0.0, 2.0]), 0.5), [2, 6])


def test_the_updates_are_those_of_the_paper():
    """§2.2 written out, at ε = 0 and γ = ½."""
    p = Problem(0, eps=0.0)
    V, W, H, mu = (p.Phi @ p.Y[0]) ** 2, p.W, p.H, 0.7
    WH = W @ H
    H = H * ((W.T @ (WH**-2 * V)) / (W.T @ WH**-1 + mu)) ** 0.5
    WH = W @ H
    W = W * (((WH**-2 * V) @ H.T) / (WH**-1 @ H.T + mu * np.ones((p.M, p.N)) @ H.T)) ** 0.5
    new = nmf_step(p.engine, p.W, Penalty(mu), 0.0, 0.5)
    assert np.allclose(new, W / W.sum(axis=0))
    assert np.allclose(p.engine.activations(), H * W.sum(axis=0)[:, None])


def test_fixed_columns_stay_as_they_are():
    p = Problem(2)
    W = p.W * np.array([1.0, 5.0, 1.0])
    fixed = FixedFactors(columns=np.array([1]))
    new = nmf_step(p.engine, W, Penalty(0.3), p.eps, 1.0, fixed)
    assert np.array_equal(new[:, 1], W[:, 1])
    assert np.allclose(new[:, [0, 2]].sum(axis=0), 1)
    assert not np.allclose(new[:, 0], W[:, 0])


@pytest.mark.parametrize("mu", [0.0, 1.0, 150.0])
def test_flat_activations_are_the_best_constant_model(mu):
    powers = np.array([0.0, 1e-6, 1.0, 40.0])
    H = flat_activations(powers, M=10, K=2, penalty=Penalty(mu))
    s = H.sum(axis=0) / 10
    assert s[0] == 0
    for p, best in zip(powers[1:], s[1:], strict=True):
        cost = [p / c + np.log(c) + mu * c for c in (best, 0.99 * best, 1.01 * best)]
        assert cost[0] < min(cost[1:])
