"""β-divergences: derivatives by finite differences, descent of both steps, extreme entries."""

import numpy as np
import pytest

import phinmf
from phinmf import Beta
from phinmf.algorithm.nmf import nmf_step
from phinmf.divergences import ItakuraSaito, Penalty
from phinmf.engines import ENGINES
from phinmf.engines.array import ArrayEngine
from phinmf.linalg.manifold import random_orthogonal
from phinmf.solvers import LBFGS

BETAS = [-1, -0.5, 0, 0.3, 0.5, 1, 1.5, 2, 2.5, 3]
EPS = 1e-2
V = np.geomspace(1e-3, 30, 9)
V_HAT = np.geomspace(0.02, 10, 6)[:, None]


def differences(f, x):
    """The derivative of f by a difference of fourth order."""
    step = 1e-3 * x
    low, high = f(x - step) - f(x + step), f(x + 2 * step) - f(x - 2 * step)
    return -(8 * low + high) / (12 * step)


@pytest.mark.parametrize("beta", BETAS)
def test_the_derivatives(beta):
    d, x = Beta(beta), np.sqrt(V)
    slope = differences(lambda x: d.value(x**2, V_HAT, EPS), x) / x
    second = differences(lambda x: x * d.slope(x**2, V_HAT, EPS), x)
    P, Q = d.nmf_split(V, V_HAT, EPS)
    in_model = differences(lambda b: d.value(V, b, EPS), V_HAT)
    for formula, expected in (
        (d.slope(V, V_HAT, EPS), slope),
        (d.curvature(V, V_HAT, EPS), second),
        (Q - P, in_model),
    ):
        assert formula == pytest.approx(expected, rel=1e-7, abs=1e-7 * np.abs(expected).max())
    assert (P >= 0).all()
    assert (Q >= 0).all()
    bound = d.bound(V, V_HAT, EPS)
    assert (bound >= d.curvature(V, V_HAT, EPS)).all()
    assert (bound >= 0).all()


@pytest.mark.parametrize("beta", BETAS)
def test_it_is_zero_only_at_equality_and_scales_with_the_power(beta):
    d = Beta(beta)
    assert d.value(2.0, 2.5, 0.5) == pytest.approx(0, abs=1e-15)
    assert (d.value(V, 3 * V, 0.0) > 0).all()
    assert d.value(4 * V, 4 * V_HAT, 4 * EPS) == pytest.approx(4**beta * d.value(V, V_HAT, EPS))


def formulas(d):
    """What is continuous in β, (5, 6, 9); the bound is not, because at 0 it is the paper's."""
    entries = V, V_HAT, EPS
    results = [d.value(*entries), d.slope(*entries), d.curvature(*entries), *d.nmf_split(*entries)]
    return np.stack(np.broadcast_arrays(*results))


def test_the_limits_in_beta():
    assert formulas(Beta(0)) == pytest.approx(formulas(ItakuraSaito()), rel=1e-12)
    assert np.array_equal(Beta(0).bound(V, V_HAT, EPS), ItakuraSaito().bound(V, V_HAT, EPS))
    assert formulas(Beta(1e-6)) == pytest.approx(formulas(Beta(0)), rel=1e-3, abs=1e-4)
    assert formulas(Beta(1 + 1e-6)) == pytest.approx(formulas(Beta(1)), rel=1e-3, abs=1e-4)


def cost(engine, W, mu):
    return engine.objective(W, EPS).evaluate().loss + mu * (
        W.sum(axis=0) @ engine.activations().sum(axis=1)
    )


@pytest.mark.parametrize("mu", [0.0, 0.3, 10.0])
@pytest.mark.parametrize("share", [1.0, 0.5])
@pytest.mark.parametrize("beta", BETAS)
def test_an_nmf_step_never_raises_the_cost(beta, share, mu):
    d = Beta(beta)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        Y = rng.standard_normal((1, 5, 12)) * rng.choice([1e-3, 1, 30], (1, 1, 12))
        engine = ArrayEngine(Y, d)
        engine.set_activations(rng.gamma(0.3, size=(3, 12)))
        W = rng.gamma(0.3, size=(5, 3))
        before = cost(engine, W, mu)
        for _ in range(6):
            W = nmf_step(engine, W, Penalty(mu), EPS, share * d.max_exponent)
            after = cost(engine, W, mu)
            assert after <= before + 1e-12 * abs(before)
            before = after


@pytest.mark.parametrize(
    ("beta", "engine"),
    [(b, e) for b in BETAS for e in ("array", "compiled") if ENGINES[e].supports(Beta(b))],
)
def test_a_transform_step_never_raises_the_loss(beta, engine):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        Y = rng.standard_normal((2, 6, 40)) * rng.gamma(0.5, size=(1, 1, 40))
        frames = ENGINES[engine](Y, Beta(beta))
        Phi = random_orthogonal(6, rng)
        frames.rotate(Phi)
        frames.set_activations(rng.random((2, 40)))
        objective, memory = frames.objective(rng.random((6, 2)), EPS), None
        before = objective.evaluate().loss
        for _ in range(4):
            step = LBFGS().update(Phi, objective, 3, memory)
            Phi, memory = step.Phi, step.memory
            assert step.loss <= before + 1e-12 * abs(before)
            before = step.loss


@pytest.mark.parametrize("beta", [0, 0.5])  # the other families are in test_contracts
def test_compiled_and_readable_fits_agree(beta):
    Y = np.random.default_rng(0).standard_normal((12, 90))
    Y[:, 5] = 0
    how = {"divergence": Beta(beta), "floor": 1e-2, "max_iter": 5, "tol": 0, "random_state": 0}
    models = [phinmf.TLNMF(3, engine=engine, **how).fit(Y.T) for engine in ("compiled", "array")]
    assert models[0].objective_ == pytest.approx(models[1].objective_, rel=1e-8)
    fast, slow = (model.transform(Y.T) for model in models)
    np.testing.assert_allclose(fast, slow, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("floor", "dtype"), [(0.0, np.float64), (1e-8, np.float64), (1e-8, np.float32)]
)
@pytest.mark.parametrize("beta", BETAS)
def test_results_are_finite_and_do_not_depend_on_the_unit(beta, floor, dtype):
    rng = np.random.default_rng(0)
    Y = (rng.standard_normal((6, 40)) * rng.choice([0.1, 1, 3], 40)).astype(dtype)
    if floor:
        Y[:, 3] = 0
    how = {"divergence": Beta(beta), "floor": floor, "max_iter": 6, "tol": 0, "random_state": 0}
    unit, scaled = (phinmf.tl_nmf(Y * dtype(2.0**n), 2, **how) for n in (0, 12))
    for array in (unit.Phi, unit.W, unit.H, unit.objective, unit.history.objective):
        assert np.isfinite(array).all()
    assert unit.objective <= unit.history.start
    assert np.array_equal(unit.Phi, scaled.Phi)
    assert np.array_equal(unit.W, scaled.W)
    assert np.array_equal(unit.H * dtype(2.0**24), scaled.H)
    assert unit.objective == scaled.objective


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("beta", BETAS)
def test_levels_that_differ_by_180_decibels(beta, dtype):
    rng = np.random.default_rng(0)
    Y = (rng.standard_normal((6, 40)) * rng.choice([0, 1e-6, 1, 1e3], 40)).astype(dtype)
    how = {"divergence": Beta(beta), "max_iter": 12, "tol": 0, "random_state": 0}
    for model in (phinmf.TLNMF(2, **how).fit(Y.T), phinmf.TLNMF(2, solver=None, **how).fit(Y.T)):
        H = model.transform(Y.T)
        assert np.isfinite(model.objectives_).all()
        assert np.isfinite(H).all()
        assert not H[~Y.any(axis=0)].any()


@pytest.mark.parametrize("engine", ["array", "compiled"])
def test_a_power_of_zero_is_no_nan(engine):
    """Without a floor, 0 log 0 and 0² log 0 are 0."""
    Y = np.array([[[0.0, 1.0, 2.0], [1.0, 0.0, 0.0]]])
    frames = ENGINES[engine](Y, Beta(1))
    frames.set_activations(np.full((1, 3), 0.5))
    objective = frames.objective(np.ones((2, 1)), 0.0)
    loss, G = objective.evaluate()
    expected = 3 * (0.0 + 0.5) + 2 * (np.log(2) - 0.5) + 4 * np.log(8) - 3.5
    assert loss == pytest.approx(expected)
    assert np.isfinite(G).all()
    assert np.isfinite(objective.bound()).all()


def test_sums_of_decimals_meet_1():
    assert Beta(3 * 0.1 + 0.7) == Beta(1)


@pytest.mark.parametrize("beta", [-1.01, 3.5, np.nan, "one", None])
def test_other_values_are_refused(beta):
    with pytest.raises((ValueError, TypeError), match="beta is"):
        Beta(beta)
