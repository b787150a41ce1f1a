"""β-divergences: their limits, extreme entries, and the NMF that scikit-learn computes."""

import numpy as np
import pytest
from sklearn.decomposition import non_negative_factorization

import phinmf
from phinmf import Beta, Method, tl_nmf
from phinmf.divergences import DIVERGENCES, ItakuraSaito
from phinmf.engines import ENGINES

BETAS = [-1, -0.5, 0, 0.3, 0.5, 1, 1.5, 2, 2.5, 3]
EPS = 1e-2
V = np.geomspace(1e-3, 30, 9)
V_HAT = np.geomspace(0.02, 10, 6)[:, None]


def formulas(d):
    """What is continuous in β, (5, 6, 9); the bound is not, because at 0 it is the paper's."""
    entries = V, V_HAT, EPS
    results = [d.value(*entries), d.slope(*entries), d.curvature(*entries), *d.nmf_split(*entries)]
    return np.stack(np.broadcast_arrays(*results))


@pytest.mark.parametrize("beta", BETAS)
def test_it_is_zero_only_at_equality(beta):
    assert Beta(beta).value(2.0, 2.5, 0.5) == pytest.approx(0, abs=1e-15)
    assert (Beta(beta).value(V, 3 * V, 0.0) > 0).all()


def test_the_limits_in_beta():
    likelihood = DIVERGENCES["gaussian"].value(V, V_HAT, EPS)
    entropy = ItakuraSaito().value(V, V_HAT, EPS) + np.log(V + EPS) + 1
    assert entropy == pytest.approx(likelihood, rel=1e-12, abs=1e-12)
    assert formulas(Beta(0)) == pytest.approx(formulas(ItakuraSaito()), rel=1e-12)
    assert np.array_equal(Beta(0).bound(V, V_HAT, EPS), ItakuraSaito().bound(V, V_HAT, EPS))
    assert formulas(Beta(1e-6)) == pytest.approx(formulas(Beta(0)), rel=1e-3, abs=1e-4)
    assert formulas(Beta(1 + 1e-6)) == pytest.approx(formulas(Beta(1)), rel=1e-3, abs=1e-4)


@pytest.mark.parametrize(
    ("floor", "dtype"), [(0.0, np.float64), (1e-8, np.float64), (1e-8, np.float32)]
)
@pytest.mark.parametrize("beta", BETAS)
def test_results_are_finite_and_do_not_depend_on_the_unit(beta, floor, dtype):
    """Frames may differ by 180 decibels, and be silent."""
    rng = np.random.default_rng(0)
    levels = [0, 1e-6, 1, 1e3] if floor else [0.1, 1, 3]
    Y = (rng.standard_normal((6, 40)) * rng.choice(levels, 40)).astype(dtype)
    how = {"divergence": Beta(beta), "floor": floor, "max_iter": 6, "tol": 0, "random_state": 0}
    unit, scaled = (phinmf.tl_nmf(Y * dtype(2.0**n), 2, **how) for n in (0, 12))
    for array in (unit.Phi, unit.W, unit.H, unit.objective, unit.history.objective):
        assert np.isfinite(array).all()
    assert not unit.H[:, ~Y.any(axis=0)].any()
    assert unit.objective <= unit.history.start
    assert np.array_equal(unit.Phi, scaled.Phi)
    assert np.array_equal(unit.W, scaled.W)
    assert np.array_equal(unit.H * dtype(2.0**24), scaled.H)
    assert unit.objective == scaled.objective


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


@pytest.mark.parametrize("engine", ["array", "compiled"])
@pytest.mark.parametrize("beta", [2, 1, 0.5, 0])
@pytest.mark.parametrize("pairs", [False, True])
def test_the_nmf_of_scikit_learn(beta, engine, pairs, rng):
    """The same updates give the same model; the default ones end no worse."""
    V = rng.gamma(0.5, size=(24, 4)) @ rng.gamma(0.5, size=(4, 60)) + 1e-3
    V = V * rng.exponential(size=(24, 60)) + 1e-6
    W, H = rng.random((24, 4)) + 0.1, rng.random((4, 60)) + 0.1
    Y = np.sqrt(np.repeat(V, 2, axis=0) * np.tile([[0.5], [1.5]], (24, 1)) if pairs else V)

    def ours(exponent):
        method = Method(anneal=False, n_iter_nmf=1, nmf_exponent=exponent)
        how = {"init": np.eye(len(Y)), "pairs": pairs, "solver": None, "sparsity": 0, "floor": 0}
        how |= {"W": W, "H": H, "divergence": Beta(beta), "method": method, "max_iter": 40}
        r = tl_nmf(Y, 4, engine=engine, tol=0, **how)
        assert r.n_iter == 40
        return r.W @ r.H

    rows, columns, _ = non_negative_factorization(  # it updates its rows, our frames, first
        V.T.copy(), H.T.copy(), W.T.copy(), n_components=4, init="custom", solver="mu",
        beta_loss=beta, max_iter=40, tol=0,
    )  # fmt: skip
    theirs = (rows @ columns).T
    np.testing.assert_allclose(ours(1 / (2 - beta) if beta < 1 else 1.0), theirs, rtol=1e-6)
    reached, bound = (Beta(beta).value(V, x, 0.0).sum() for x in (ours(1.0), theirs))
    assert reached <= bound * (1 + 1e-9)
