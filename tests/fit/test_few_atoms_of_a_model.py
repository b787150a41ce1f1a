"""`learn_transform` with few atoms: the strongest rows of V̂ are fitted by what is learned."""

import numpy as np
import pytest
from few_atoms import LIKELIHOODS, covariance, eigenvectors, sound
from fuzz.formulas import divergence_of, power
from tensor_problems import host, tensor

from phinmf import Method, learn_transform
from phinmf.algorithm import alternate
from phinmf.divergences import DIVERGENCES
from phinmf.linalg.manifold import random_orthogonal
from phinmf.solvers import SOLVERS

pytestmark = pytest.mark.usefixtures("always_coarse")

HOW = {"max_iter": 6, "tol": 0, "random_state": 0}


def model(Y, P, rng, order=None):
    """Φ* = diag(Q, I) U with its rows in another order, and V̂ = |Φ*Y|²."""
    U, _ = eigenvectors(Y)
    Phi = U.copy()
    Phi[:P] = random_orthogonal(P, rng) @ U[:P]
    Phi = Phi[rng.permutation(len(U)) if order is None else order]
    return Phi, np.square(Phi @ Y).mean(axis=0) if Y.ndim == 3 else np.square(Phi @ Y)


def cost(r, Y, V_hat, divergence="itakura-saito", floor=1e-8):
    """L(Φ) at unit power."""
    scale = np.sqrt(np.square(np.asarray(Y, np.float64)).mean())
    V = power(Y, host(r.Phi), scale)
    return divergence_of(V + floor, V_hat / scale**2 + floor, divergence).sum()


@pytest.mark.parametrize("give", [np.asarray, tensor])
@pytest.mark.parametrize("divergence", LIKELIHOODS)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("anneal", [True, False])
def test_no_worse_than_the_start_and_in_the_order_of_the_model(
    solver, divergence, anneal, give, rng
):
    Y, P = sound()[0], 6
    _, V_hat = model(Y, P, rng)
    how = HOW | {
        "solver": solver,
        "divergence": divergence,
        "method": Method(anneal=anneal),
        "n_atoms": P,
    }
    seen = []
    r = learn_transform(give(Y), V_hat, callback=lambda state: seen.append(state.Phi), **how)
    assert len(seen) == len(r.history)
    assert r.objective <= r.history.start
    assert r.objective == pytest.approx(cost(r, Y, V_hat, divergence), rel=1e-6)
    assert (r.history.atoms == P).all()
    Phi = host(r.Phi)
    np.testing.assert_allclose(Phi @ Phi.T, np.eye(24), atol=1e-12)
    np.testing.assert_allclose(host(seen[-1]), Phi, atol=1e-9)  # in the same order
    learned = np.zeros(24, bool)
    learned[np.argsort(-V_hat.sum(axis=1))[:P]] = True
    A = covariance(Y)
    mixed = Phi @ A @ Phi.T
    np.testing.assert_allclose(mixed[~learned][:, learned], 0, atol=1e-12 * np.trace(A))
    assert r.n_atoms == P
    assert r.energy == pytest.approx(np.trace(mixed[learned][:, learned]) / np.trace(A))


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_a_start_that_belongs_to_the_model_stays_with_its_rows(divergence, rng):
    """The atoms of a given start are those of the rows of V̂, whatever their order."""
    Y = sound()[0]
    Phi, V_hat = model(Y, 1, rng)
    how = HOW | {"n_atoms": 8, "divergence": divergence, "method": Method(anneal=False)}
    r = learn_transform(Y, V_hat, init=Phi, **how | {"max_iter": 0})
    np.testing.assert_allclose(abs((r.Phi * Phi).sum(axis=1)), 1, atol=1e-9)
    assert r.objective == pytest.approx(cost(r, Y, V_hat, divergence), rel=1e-9)
    if divergence == "itakura-saito":
        assert abs(r.objective) < 1e-6


def test_a_fit_near_its_model_comes_back_to_it(rng):
    """§4.1 of the paper, inside a subspace."""
    Y, P = rng.standard_normal((20, 400)) * np.linspace(2, 0.2, 20)[:, None], 7
    Phi, V_hat = model(Y, P, rng)
    E = 1e-3 * rng.standard_normal((20, 20))
    near, _ = np.linalg.qr((np.eye(20) + E - E.T) @ Phi)
    near *= np.sign((near * Phi).sum(axis=1, keepdims=True))
    r = learn_transform(
        Y,
        V_hat,
        init=near,
        n_atoms=P,
        max_iter=60,
        tol=0,
        method=Method(anneal=False, n_iter_transform=5),
    )
    start = learn_transform(Y, V_hat, init=near, n_atoms=P, max_iter=0, tol=0)
    assert r.objective < 0.2 * start.objective
    assert abs((r.Phi * Phi).sum(axis=1)).min() > 0.999


@pytest.mark.parametrize("engine", ["array", "compiled", "dask"])
@pytest.mark.parametrize("C", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_engines_channels_and_precisions(engine, C, dtype, rng):
    Y = sound(C=C, dtype=dtype)
    _, V_hat = model(Y.astype(np.float64), 6, rng)
    for n_atoms in (1, 6, 0.99, 23):
        r = learn_transform(Y, V_hat, n_atoms=n_atoms, engine=engine, **HOW)
        assert r.objective <= r.history.start
        assert r.Phi.dtype == dtype
        error = abs(r.Phi.astype(np.float64) @ r.Phi.T.astype(np.float64) - np.eye(24)).max()
        assert error < 50 * np.finfo(dtype).eps


def test_all_atoms_are_none(rng):
    Y = sound()[0]
    _, V_hat = model(Y, 6, rng)
    one, other = (learn_transform(Y, V_hat, n_atoms=n, **HOW) for n in (None, 24))
    assert np.array_equal(one.Phi, other.Phi)
    assert other.energy == 1


def test_the_scale_of_the_gradient_is_that_of_the_atoms_that_are_learned(monkeypatch, rng):
    """A gradient is small or not compared with one of P atoms."""
    Y = sound()[0]
    Phi, V_hat = model(Y, 6, rng)
    scales = []
    judged = alternate.reason_to_stop

    def noted(run, callback):
        scales.append(run.gradient_scale)
        return judged(run, callback)

    monkeypatch.setattr(alternate, "reason_to_stop", noted)
    for n_atoms in (6, None):
        scales.clear()
        r = learn_transform(
            Y,
            V_hat,
            init=Phi,
            n_atoms=n_atoms,
            method=Method(anneal=False, n_iter_transform=5),
            random_state=0,
        )
        assert r.converged
        assert set(scales) == {Y.shape[1] * (n_atoms or 24) ** 0.5}
