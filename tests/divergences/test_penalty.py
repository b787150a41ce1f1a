"""Sparse and smooth activations: formulas, descent, and the same numbers on every engine."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import BETAS, TESTED, Problem, divergence_named, notes
from tensor_problems import host, tensor, torch

import phinmf
from phinmf.algorithm.model import Model
from phinmf.algorithm.nmf import nmf_step
from phinmf.divergences import Penalty
from phinmf.engines import ENGINES
from phinmf.engines.base import links_among

DIVERGENCES = ["itakura-saito", "gaussian", "kullback-leibler", phinmf.Beta(0.5)]


def roughness(H, links):
    """Σ d(h_{n-1} | h_n), straight from its definition, over linked frames that are not zero."""
    before, after = H[:, :-1], H[:, 1:]
    linked = (before > 0) & (after > 0) & links[1:]
    ratio = before[linked] / after[linked]
    return (ratio - np.log(ratio) - 1).sum()


def engine(name, Y, divergence="itakura-saito", **how):
    measure = phinmf.divergences.DIVERGENCES.get(divergence, divergence)
    return ENGINES[name](Y, measure, **how)


def test_the_update_is_the_root_of_fevotte(rng):
    """With γ = ½ the update minimises the surrogate: one quadratic equation for each entry."""
    p = Problem(0, M=6, N=7, K=2)
    W, H, mu, smoothness = p.W, p.H.copy(), 0.4, 3.0
    p.engine.nmf_pass(W, Penalty(mu, smoothness), p.eps, 0.5)
    V = np.square(p.Phi @ p.Y[0])
    for first in (0, 1):
        before = H.copy()
        v_hat = W @ before + p.eps
        P, Q = W.T @ ((V + p.eps) / v_hat**2), W.T @ (1 / v_hat) + mu
        for n in range(first, 7, 2):
            A, B = P[:, n] * before[:, n] ** 2, Q[:, n].copy()
            A += smoothness * (before[:, n - 1] if n > 0 else before[:, n])
            B += smoothness / (before[:, n + 1] if n < 6 else before[:, n])
            H[:, n] = np.sqrt(A / B)
    assert np.allclose(p.engine.activations(), H, rtol=1e-12)


@settings(max_examples=200)
@given(
    seed=st.integers(0, 2**32 - 1),
    N=st.integers(1, 12),
    C=st.integers(1, 2),
    divergence=st.sampled_from([*TESTED, *BETAS]),
    gamma=st.sampled_from([0.5, 0.8, 1.0]),
    smoothness=st.sampled_from([0.0, 1e-3, 1.0, 300.0]),
    mu=st.sampled_from([0.0, 5.0, 1e4]),
    name=st.sampled_from(["array", "compiled", "tensors"] if torch else ["array", "compiled"]),
)
def test_nmf_steps_never_raise_the_objective(seed, N, C, divergence, gamma, smoothness, mu, name):
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((C, 5, N)) * (rng.random(N) > 0.2)
    weights, links = rng.integers(0, 3, N).astype(float), rng.random(N) > 0.3
    measure = divergence_named(divergence)
    gamma, smoothness = min(gamma, measure.max_exponent), smoothness * measure.smooth_updates
    give = tensor if name == "tensors" else np.asarray
    kind = "compiled" if name == "compiled" and ENGINES[name].supports(measure) else "array"
    frames = engine(kind, give(Y), measure, weights=weights, links=links)
    H = rng.exponential(size=(3, N)) * (rng.random((3, N)) > 0.1)
    frames.set_activations(give(H))
    W = rng.dirichlet(np.ones(5), 3).T
    W[:, 0] *= rng.random() > 0.2
    W = give(W)
    model = Model(frames, Penalty(mu, smoothness))
    before = sum(model.costs(W, 1e-3))
    for _ in range(6):
        W = nmf_step(frames, W, model.penalty, 1e-3, gamma)
        after = sum(model.costs(W, 1e-3))
        assert after <= before + 1e-12 * (abs(before) + Y.size)
        before = after
    H = host(frames.activations())
    expected = roughness(H, frames.links)
    assert frames.roughness() == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("N", [1, 2, 37, 1500, 2603])
def test_blocks_agree_with_the_readable_engine(N, dtype, rng):
    Y = rng.standard_normal((2, 6, N)).astype(dtype)
    weights, links = rng.integers(0, 3, N).astype(float), rng.random(N) > 0.1
    W, H = rng.dirichlet(np.ones(6), 3).T.astype(dtype), rng.exponential(size=(3, N)).astype(dtype)
    penalty = Penalty(0.3, 4.0)
    engines = [engine(name, Y, weights=weights, links=links) for name in ("array", "compiled")]
    results = []
    for frames in engines:
        frames.set_activations(H)
        sums = frames.nmf_pass(W, penalty, 1e-3, 1.0)
        results.append([frames.activations(), *sums, np.array(frames.roughness())])
    for readable, fast in zip(*results, strict=True):
        assert np.allclose(readable, fast, rtol=1e-10 if dtype == np.float64 else 2e-3)


def test_links():
    weights = np.array([1.0, 1, 0, 1, 2, 1])
    links = np.array([True, True, True, True, False, True])
    for of_caller, links_of_frames in (
        (None, [False, True, False, False, True, True]),
        (links, [False, True, False, False, False, True]),
    ):
        frames = engine("array", np.ones((1, 2, 6)), weights=weights, links=of_caller)
        assert frames.links.tolist() == links_of_frames
    assert links_among(np.array([0, 1, 3, 4]), links).tolist() == [True, True, False, False]
    assert links_among(slice(None), links).tolist() == links.tolist()


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("solver", ["lbfgs", None])
def test_fit(solver, divergence):
    """The more smoothness, the smoother; every objective is the sum of its parts."""
    Y = notes()
    how = {"divergence": divergence, "solver": solver, "random_state": 0, "sparsity": 0.1}
    rough = []
    for smoothness in (0.0, 1.0, 100.0):
        r = phinmf.tl_nmf(Y, 3, smoothness=smoothness, max_iter=30, tol=0, **how)
        links = np.arange(Y.shape[1]) > 0
        rough.append(roughness(r.H, links))
        totals = (r.W.sum(axis=0) * r.H.sum(axis=1)).sum() / r.scale**2
        assert r.penalty == pytest.approx(0.1 * totals + smoothness * rough[-1], rel=1e-6)
        assert r.objective == pytest.approx(r.divergence + r.penalty)
        assert r.objective <= r.history.start
    assert rough[0] > rough[1] > rough[2]


def test_a_gap_breaks_the_chain():
    """Two recordings one after the other are fitted as if each were alone."""
    Y = notes()
    N = Y.shape[1]
    both = np.concatenate([Y, Y[:, ::-1]], axis=1)
    W, H = np.full((32, 2), 1 / 32), np.ones((2, N))
    H[0] *= np.linspace(1, 2, N)
    how = {"solver": None, "smoothness": 30.0, "max_iter": 20, "tol": 0, "fixed": "W", "W": W}
    alone = phinmf.tl_nmf(Y, 2, H=H, **how)
    twice = np.concatenate([H, H], axis=1)
    joined = phinmf.tl_nmf(both, 2, H=twice, **how)
    assert not np.allclose(joined.H[:, :N], alone.H, rtol=1e-2)
    between = np.concatenate([Y, Y[:, :1], Y[:, ::-1]], axis=1)
    weights = np.arange(2 * N + 1) != N
    H = np.insert(twice, N, 1.0, axis=1)
    apart = phinmf.tl_nmf(between, 2, H=H, sample_weight=weights, **how)
    assert np.allclose(apart.H[:, :N], alone.H, rtol=1e-9)


@pytest.mark.parametrize("solver", ["lbfgs", None])
def test_the_estimator_encodes_new_frames_smoothly(solver):
    X = notes().T
    how = {"solver": solver, "max_iter": 20, "tol": 0, "random_state": 0}
    model = phinmf.TLNMF(3, smoothness=50.0, **how)
    H, links = model.fit_transform(X), np.arange(len(X)) > 0
    assert np.allclose(model.transform(X), H, rtol=1e-9)
    again = phinmf.TLNMF(3, **how).fit(X).transform(X)
    assert roughness(H.T, links) < roughness(again.T, links) / 2
    total = model.reconstruction_err_ + 10.0 * H.sum() / model.scale_**2
    total += 50.0 * roughness(H.T, links)
    assert model.objective_ == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize("engine", ["array", "compiled"])
def test_smooth_activations_of_frames_that_grow_a_thousandfold_stay_finite(engine):
    """Tiny activations beside loud ones must not leave the range of single precision."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 40)) * np.geomspace(1e-3, 1, 4000)[:, None]
    model = phinmf.TLNMF(3, smoothness=20, max_iter=4, tol=0, random_state=0, engine=engine)
    single = model.fit(X.astype(np.float32)).objective_
    assert single == pytest.approx(model.fit(X).objective_, rel=0.01)
