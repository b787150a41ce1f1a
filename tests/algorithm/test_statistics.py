"""Sums that fade: each stands for a function that lies above the cost, and W is its minimum."""

import numpy as np
import pytest

from phinmf.algorithm.model import Model
from phinmf.algorithm.nmf import Kept, normalise
from phinmf.algorithm.statistics import Exponents, FadingSums, learn_dictionary
from phinmf.divergences import Beta, Gaussian, ItakuraSaito
from phinmf.engines import ENGINES
from phinmf.penalties import Sparse

M, K, N, EPS = 5, 2, 40, 1e-3
BETAS = [-0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5]


def block_of(rng, divergence, weight=0.0, kept=None):
    """Return a model of random frames with random activations, and some W."""
    engine = ENGINES["array"](rng.standard_normal((1, M, N)), divergence)
    engine.rotate(np.eye(M))
    engine.set_activations(rng.exponential(size=(K, N)))
    W, _ = normalise(rng.exponential(size=(M, K)))
    return Model(engine, Sparse(weight), kept=kept), W


def sums_at(model, W):
    sums = model.engine.nmf_pass(W, model.penalty, EPS, 0.0)
    return FadingSums.of(sums, W, Exponents.of(model.engine.divergence))


def bound(sums, W, beta, pressure=0.0):
    """The function that the sums stand for, up to a constant."""
    A, B, p = sums.numerator, sums.denominator, beta - 1
    if beta == 1:
        falling = -A * np.log(W)
    elif beta <= 2:
        falling = -A * W**p / p
    else:
        falling = -A * W
    rising = B * W if beta <= 1 else B * W**beta / beta
    return (falling + rising + pressure * W).sum()


@pytest.mark.parametrize("beta", BETAS)
def test_the_function_lies_above_the_cost_and_touches_it(rng, beta):
    model, W = block_of(rng, Beta(beta))
    sums = sums_at(model, W)
    cost, touching = model.cost(W, EPS), bound(sums, W, beta)
    for size in (1e-3, 0.1, 1.0):
        other = W * np.exp(size * rng.standard_normal(W.shape))
        rise = model.cost(other, EPS) - cost
        assert rise <= bound(sums, other, beta) - touching + 1e-9
    tiny = 1e-5 * W * rng.standard_normal(W.shape)
    slope = model.cost(W + tiny, EPS) - model.cost(W - tiny, EPS)
    known = bound(sums, W + tiny, beta) - bound(sums, W - tiny, beta)
    assert slope == pytest.approx(known, rel=1e-4)


@pytest.mark.parametrize("beta", BETAS)
def test_the_dictionary_is_the_minimum_of_two_faded_blocks(rng, beta):
    (first, W), (second, other) = (block_of(rng, Beta(beta)) for _ in range(2))
    sums = sums_at(first, W).times(0.7) + sums_at(second, other)
    best = sums.best_dictionary(W, first)
    least = bound(sums, best, beta)
    for size in (1e-3, 0.1, 1.0):
        moved = best * np.exp(size * rng.standard_normal(W.shape))
        assert bound(sums, moved, beta) > least


def test_the_penalty_is_part_of_the_minimum(rng):
    model, W = block_of(rng, ItakuraSaito(), weight=2.0)
    sums = sums_at(model, W)
    pressure = 2.0 * sums.activation
    best = sums.best_dictionary(W, model)
    for size in (1e-3, 0.1):
        moved = best * np.exp(size * rng.standard_normal(W.shape))
        assert bound(sums, moved, 0.0, pressure) > bound(sums, best, 0.0, pressure)


@pytest.mark.parametrize("weight", [0.0, 3.0])
@pytest.mark.parametrize("divergence", [Beta(b) for b in BETAS] + [Gaussian()], ids=repr)
def test_repeated_updates_on_one_block_never_raise_its_cost(rng, divergence, weight):
    model, W = block_of(rng, divergence, weight)
    nothing = sums_at(model, W).times(0.0)
    costs = [model.cost(W, EPS)]
    for _ in range(15):
        W, _ = learn_dictionary(model, W, nothing, EPS, 1)
        costs.append(model.cost(W, EPS))
        np.testing.assert_allclose(W.sum(axis=0), 1)
    assert (np.diff(costs) <= 1e-9 * abs(costs[0])).all()
    assert costs[-1] < costs[0]


@pytest.mark.parametrize("beta", BETAS)
def test_the_sums_follow_the_normalisation(rng, beta):
    model, W = block_of(rng, Beta(beta))
    sums, s = sums_at(model, W), np.array([2.0, 0.3])
    model.engine.scale_activations(s)
    again = sums_at(model, W / s)
    divided = sums.with_columns_divided(s)
    np.testing.assert_allclose(divided.numerator, again.numerator)
    np.testing.assert_allclose(divided.denominator, again.denominator)
    np.testing.assert_allclose(divided.activation, again.activation)
    np.testing.assert_allclose(
        divided.best_dictionary(W / s, model), sums.best_dictionary(W, model) / s
    )


@pytest.mark.parametrize("beta", BETAS)
def test_the_sums_follow_the_unit_of_power(rng, beta):
    model, W = block_of(rng, Beta(beta))
    sums, engine = sums_at(model, W), model.engine
    louder = ENGINES["array"](3 * engine.Y, Beta(beta))
    louder.rotate(np.eye(M))
    louder.set_activations(9 * engine.activations())
    found = louder.nmf_pass(W, model.penalty, 9 * EPS, 0.0)
    expected, changed = FadingSums.of(found, W, sums.exponents), sums.in_unit(9.0, beta)
    for name in ("numerator", "denominator", "activation"):
        np.testing.assert_allclose(getattr(changed, name), getattr(expected, name))


def test_columns_stay_and_dead_entries_stay_dead(rng):
    model, W = block_of(rng, ItakuraSaito(), kept=Kept(np.array([1])))
    W[0] = 0.0
    nothing = sums_at(model, W).times(0.0)
    learned, sums = learn_dictionary(model, W, nothing, EPS, 3)
    np.testing.assert_array_equal(learned[:, 1], W[:, 1])
    assert (learned[0] == 0).all()
    assert np.isfinite(sums.numerator).all()
    assert np.isfinite(sums.denominator).all()
    unheard = sums.times(0.0)
    np.testing.assert_array_equal(unheard.best_dictionary(learned, model), learned)
