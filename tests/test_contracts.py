"""Every registered solver, divergence and engine passes these tests, a user's divergence too."""

import dataclasses
import itertools
from typing import get_args, get_type_hints

import numpy as np
import pytest
from formulas import check_fit
from problems import (
    BETAS,
    HOLDING,
    OWN,
    SUPPORTED,
    TESTED,
    Problem,
    divergence_named,
    engine_kind,
    frames_for,
    mean_power,
    notes,
    serves,
)
from tensor_problems import KINDS, host

import phinmf
from phinmf.divergences import DIVERGENCES, Divergence, DivergenceName, Penalty
from phinmf.engines import ENGINES, EngineName
from phinmf.inits import INITS, Frames, Init, InitName
from phinmf.linalg.manifold import givens, orthogonality_error, random_orthogonal
from phinmf.solvers import SOLVERS, Descent, Solver, SolverName

NAMES = {
    SolverName: SOLVERS,
    InitName: INITS,
    DivergenceName: DIVERGENCES,
    EngineName: ["auto", *ENGINES],
}
EVERYTHING = [
    (solver, divergence, engine)
    for solver, (divergence, engine) in itertools.product([*SOLVERS, None], SUPPORTED)
    if serves(engine, solver)
]
SERVED = [(name, engine) for name in SOLVERS for engine in HOLDING if serves(engine, name)]


def test_types_know_the_names_of_the_registries():
    for literal, registry in NAMES.items():
        assert get_args(literal) == tuple(registry)
    for function in (phinmf.tl_nmf, phinmf.TLNMF.__init__):
        hints = get_type_hints(function)
        arguments = ("solver", "init", "divergence", "engine")
        assert all(
            hints[name] is literal or literal in get_args(hints[name])
            for name, literal in zip(arguments, NAMES, strict=True)
        )


@pytest.mark.parametrize(("solver", "divergence", "engine"), EVERYTHING)
@pytest.mark.parametrize(
    ("dtype", "pairs"), [(np.float32, False), (np.float64, False), (np.float32, True)]
)
def test_fit(solver, divergence, engine, dtype, pairs):
    Y = np.stack([notes(seed=s) for s in range(2)]).astype(dtype)
    given, engine = frames_for(Y, engine)

    def fit():
        d = OWN.get(divergence, divergence)
        r = phinmf.tl_nmf(given, 3, solver=solver, divergence=d, engine=engine, init="random",
                          pairs=pairs, random_state=1, max_iter=6, tol=0)  # fmt: skip
        assert type(r.Phi) is type(r.W) is type(r.H) is type(given)
        return dataclasses.replace(r, Phi=host(r.Phi), W=host(r.W), H=host(r.H))

    r = fit()
    assert np.array_equal(host(given), Y)
    assert r.Phi.dtype == r.W.dtype == r.H.dtype == dtype
    assert r.W.shape[1] == 3
    assert r.pairs == pairs
    assert r.n_iter == 6
    assert r.status is phinmf.Status.MAX_ITER
    h = r.history
    slack = (1e-5 if dtype == np.float32 else 1e-12) * max(abs(h.start), Y[0].size)
    expected = check_fit(Y, r, {"divergence": divergence})
    assert r.objective == pytest.approx(expected, rel=1e-4, abs=slack)
    assert np.allclose(h.objective, h.divergence + h.penalty)
    assert h.floor[-1] == pytest.approx(1e-8)
    assert r.objective <= min(h.start, h.target_objective[-1]) + slack

    again = fit()
    assert np.array_equal(r.Phi, again.Phi)
    assert np.array_equal(r.H, again.H)


x = np.concatenate([-np.geomspace(1e-2, 3, 9), np.geomspace(1e-2, 3, 9)])
V_HAT = np.geomspace(0.1, 10, 5)[:, None]


def difference(f, x, step):
    return (f(x - 2 * step) - 8 * f(x - step) + 8 * f(x + step) - f(x + 2 * step)) / (12 * step)


@pytest.mark.parametrize("name", [*TESTED, *BETAS])
@pytest.mark.parametrize("eps", [1e-4, 1e-1])
def test_divergence_contract(name, eps):
    d = divergence_named(name)
    assert isinstance(d, Divergence)
    step = 1e-4 * np.abs(x)
    numeric = difference(lambda x: d.value(x**2, V_HAT, eps), x, step)
    f_prime = d.slope(x**2, V_HAT, eps) * x
    assert np.allclose(f_prime, numeric, rtol=1e-7, atol=1e-7 * np.abs(numeric).max())
    numeric = difference(lambda x: d.slope(x**2, V_HAT, eps) * x, x, step)
    f_second = d.curvature(x**2, V_HAT, eps)
    assert np.allclose(f_second, numeric, rtol=1e-7, atol=1e-7 * np.abs(numeric).max())
    bound = d.bound(x**2, V_HAT, eps)
    assert (bound >= f_second).all()
    assert (bound >= 0).all()
    if d.has_nmf_split:
        P, Q = d.nmf_split(x**2, V_HAT, eps)
        numeric = difference(lambda b: d.value(x**2, b, eps), V_HAT, 1e-4 * V_HAT)
        assert np.allclose(Q - P, numeric, rtol=1e-6, atol=1e-6)
        assert (P >= 0).all()
        assert (Q >= 0).all()


@pytest.mark.parametrize("name", INITS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("C", "M", "N"), [(1, 1, 3), (1, 6, 300), (3, 7, 2500)])
def test_init_contract(name, dtype, C, M, N):
    rng = np.random.default_rng(5)
    levels = np.geomspace(1, 1e-2, M)[:, None]  # distinct energies, so that KLT is well defined
    Y = (random_orthogonal(M, rng) @ (levels * rng.standard_normal((C, M, N)))).astype(dtype)
    weights = rng.integers(1, 3, N).astype(float)
    assert issubclass(INITS[name], Init)

    def start(Y, weights=None, seed=0):
        Phi = INITS[name]().start(Frames(Y, weights), np.random.default_rng(seed), dtype)
        return host(Phi)

    plain, weighted = start(Y), start(Y, weights)
    for Phi in (plain, weighted):
        assert Phi.shape == (M, M)
        assert Phi.dtype == dtype
        assert orthogonality_error(Phi) < (1e-6 if dtype == np.float32 else 1e-12)
    assert np.array_equal(plain, start(Y))
    close = {"rtol": 0, "atol": 1e-6 if dtype == np.float32 else 1e-10}
    np.testing.assert_allclose(weighted, start(np.repeat(Y, weights.astype(int), axis=2)), **close)
    np.testing.assert_allclose(plain, start(Y[::-1]), **close)  # channels count alike
    for give in KINDS:
        np.testing.assert_allclose(plain, start(give(Y)), **close)
        np.testing.assert_allclose(weighted, start(give(Y), weights), **close)
    fortran = np.asfortranarray(Y)
    assert np.array_equal(weighted, start(fortran, weights))


@pytest.mark.full
@pytest.mark.parametrize("name", INITS)
def test_an_init_of_a_dask_array_has_the_same_bits(name):
    da = pytest.importorskip("dask.array")
    rng = np.random.default_rng(4)
    Y, weights = rng.standard_normal((2, 6, 900)), rng.integers(0, 3, 900).astype(float)

    def start(Y, weights):
        return INITS[name]().start(Frames(Y, weights), np.random.default_rng(0), np.float64)

    for chunk, some in ((900, None), (700, None), (37, weights)):
        lazy = da.from_array(Y, chunks=(-1, -1, chunk))
        assert np.array_equal(start(Y, some), start(lazy, some))


@pytest.mark.parametrize("name", INITS)
def test_every_public_function_starts_from_an_init(name):
    Y = notes()
    how = {"init": name, "max_iter": 0, "tol": 0, "random_state": 3}
    Phi = phinmf.tl_nmf(Y, 2, **how).Phi
    assert orthogonality_error(Phi) < 1e-12
    model = phinmf.TLNMF(2, **how).fit(Y.T)
    np.testing.assert_allclose(model.transform_matrix_, Phi, atol=1e-10)
    alone = phinmf.learn_transform(Y, Y**2, **how).Phi
    assert orthogonality_error(alone) < 1e-12
    again = phinmf.tl_nmf(Y, 2, **how | {"init": INITS[name]()}).Phi
    assert np.array_equal(again, Phi)
    for give in KINDS:
        np.testing.assert_allclose(host(phinmf.tl_nmf(give(Y), 2, **how).Phi), Phi, atol=1e-10)


@pytest.mark.parametrize(("name", "engine"), SERVED)
@pytest.mark.parametrize("M", [2, 3, 8])
def test_solver_contract(name, M, engine):
    problem = Problem(7, M=M, N=30, engine=engine)
    objective = problem.objective
    before = objective.evaluate()
    step = SOLVERS[name]().update(problem.give(problem.Phi), objective, 4)
    assert issubclass(SOLVERS[name], Solver)
    assert isinstance(step, Descent)
    assert step.loss < before.loss
    assert len(step.steps) <= 4
    assert objective.evaluations > 1
    here = objective.evaluate()  # the engine stands where the solver says
    assert here.loss == pytest.approx(step.loss, rel=1e-12)
    assert np.allclose(host(here.G), host(step.G))
    problem.engine.rotate(step.Phi)
    assert objective.evaluate().loss == pytest.approx(step.loss, rel=1e-10)


@pytest.mark.parametrize(("name", "engine"), SERVED)
def test_a_solver_that_cannot_descend_says_so(name, engine):
    """At a minimum with a flat loss no step is taken, and nothing is raised."""
    problem = Problem(8, M=4, N=10, K=1, engine=engine)
    V_hat = (problem.give(problem.Phi) @ problem.give(problem.Y[0])) ** 2
    objective = problem.engine.objective_of(V_hat, problem.eps)
    step = SOLVERS[name]().update(problem.give(problem.Phi), objective, 3)
    assert step.failed or not any(step.steps)
    assert np.array_equal(host(step.Phi), problem.Phi)


@pytest.mark.parametrize(("divergence", "engine"), SUPPORTED)
@pytest.mark.parametrize(
    ("C", "M", "N", "weighted", "pairs"),
    [
        (1, 2, 1, False, False),
        (1, 5, 40, True, False),
        (3, 6, 17, False, False),
        (1, 6, 40, False, True),
        (2, 6, 40, True, True),
    ],
)
def test_engine_contract(engine, divergence, C, M, N, weighted, pairs):
    p = Problem(
        9, M=M, N=N, K=2, C=C, divergence=divergence, engine=engine, weighted=weighted, pairs=pairs
    )
    d, weights, X, eps = p.divergence, p.weights, p.Phi @ p.Y, p.eps
    v, v_hat, powers = mean_power(X, pairs), p.W @ p.H + eps, mean_power(X)
    both = np.repeat(np.arange(M // 2), 2) if pairs else np.arange(M)  # rows of W, one for an atom
    objective = p.objective
    assert p.engine.shape == (C, M, N)
    assert np.allclose(host(p.engine.powers()), (p.Y**2).mean(axis=(0, 1)))
    assert np.allclose(host(p.engine.energies()), powers @ weights)
    assert np.allclose(host(p.engine.activations()), p.H)
    assert np.allclose(host(p.engine.activation_sums()), p.H @ weights)

    def expected(X):
        v = mean_power(X, pairs)
        f_prime = d.slope(v, v_hat, eps)[both] * X * weights
        G = sum(f @ x.T for f, x in zip(f_prime, X, strict=True)) / C
        return (1 + pairs) * (d.value(v, v_hat, eps) @ weights).sum(), G

    T, other = random_orthogonal(M, p.rng), random_orthogonal(M, p.rng)
    there, elsewhere = p.give(T), p.give(other)
    for given, at in ((None, X), (elsewhere, other @ X), (there, T @ X)):
        loss, G = objective.evaluate(given)
        assert loss == pytest.approx(expected(at)[0], rel=1e-12)
        assert np.allclose(host(G), expected(at)[1], rtol=1e-10, atol=1e-10)
    bound, second = d.bound(v, v_hat, eps), d.curvature(v, v_hat, eps)
    if pairs:  # the mean of f'' over the two rows
        second = (d.slope(v, v_hat, eps) + second) / 2
    assert np.allclose(host(objective.bound()), ((bound * weights) @ powers.T)[both])
    assert np.allclose(host(objective.curvature()), ((second * weights) @ powers.T)[both])
    if engine_kind(engine).pair_losses:
        angles = np.concatenate([[0.0], p.rng.uniform(-1.5, 1.5, 3)])
        losses = host(objective.pair_losses(np.array([0]), np.array([M - 1]), angles[None]))[0]
        turned = [expected(givens(M, 0, M - 1, angle) @ X)[0] for angle in angles]
        assert np.allclose(np.diff(losses), np.diff(turned), rtol=1e-9, atol=1e-9)
    objective.move(there)  # the last one evaluated
    assert objective.evaluate().loss == pytest.approx(expected(T @ X)[0], rel=1e-12)
    objective.move(elsewhere)  # not evaluated at all
    assert objective.evaluate().loss == pytest.approx(expected(other @ T @ X)[0], rel=1e-12)
    fixed = p.engine.objective_of(p.give(v_hat - eps), eps)
    assert fixed.evaluate().loss == pytest.approx(objective.evaluate().loss, rel=1e-12)
    p.engine.rotate(p.give(p.Phi))
    for gamma in (0.0, 0.5, 1.0):
        p.engine.set_activations(p.give(p.H))
        sums = p.engine.nmf_pass(p.give(p.W), Penalty(0.5), eps, gamma)
        P, Q = d.nmf_split(v, v_hat, eps)
        H = p.H * ((p.W.T @ P) / (p.W.T @ Q + 0.5)) ** gamma
        P, Q = d.nmf_split(v, p.W @ H + eps, eps)
        assert np.allclose(host(p.engine.activations()), H)
        assert np.allclose(host(sums.numerator), P @ (H * weights).T)
        assert np.allclose(host(sums.denominator), Q @ (H * weights).T)
        assert np.allclose(host(sums.activation), H @ weights)
