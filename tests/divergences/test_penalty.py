"""Sparse and smooth activations: formulas, descent, and the same numbers on every engine."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import Problem, notes
from tensor_problems import host, tensor, torch

import phinmf
from phinmf.algorithm.model import Model
from phinmf.algorithm.nmf import flat_activations, nmf_step, normalise
from phinmf.algorithm.options import DEFAULT_SPARSITY
from phinmf.divergences import Penalty
from phinmf.divergences.base import multiply
from phinmf.divergences.penalty import difference, pull
from phinmf.engines import ENGINES
from phinmf.engines.base import links_among, links_of

DIVERGENCES = ["itakura-saito", "gaussian", "kullback-leibler", phinmf.Beta(0.5)]


@pytest.mark.parametrize("mu", [0.0, 0.7, 150.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["array", "array on tensors"])
def test_the_numbers_are_those_of_the_steps(mu, dtype, name):
    p, penalty = Problem(0, C=2, dtype=dtype, engine=name), Penalty(mu)
    W = p.give(p.W)
    total = mu * float(p.H.astype(float).sum(axis=1) @ p.W.astype(float).sum(axis=0))
    assert Model(p.engine, penalty).penalty_of(W) == pytest.approx(total, rel=1e-14)
    powers = p.engine.powers()
    level = host(penalty.flat_level(powers)) * (p.M / p.K)
    flat = host(flat_activations(powers, p.M, p.K, penalty))
    assert np.array_equal(np.tile(level, (p.K, 1)), flat)
    sums = p.engine.nmf_pass(W, penalty, p.eps, 1.0)
    pressure = mu * sums.activation
    by_hand, _ = normalise(multiply(W, sums.numerator, sums.denominator + pressure, 1.0))
    p.engine.set_activations(p.give(p.H))
    stepped = nmf_step(p.engine, W, penalty, p.eps, 1.0)
    assert np.array_equal(host(stepped), host(by_hand))


def test_a_penalty_checks_itself():
    assert repr(Penalty(np.float32(0.5))) == "Penalty(sparsity=0.5, smoothness=0.0)"
    for bad in (-1, np.nan, np.inf, "much", None):
        with pytest.raises(ValueError, match="sparsity is .*, but a finite number ≥ 0 is needed"):
            Penalty(bad)
        with pytest.raises(ValueError, match="smoothness is .*, but a finite number ≥ 0 is needed"):
            Penalty(1.0, bad)


def roughness(H, links):
    """Σ d(h_{n-1} | h_n), straight from its definition."""
    total = 0.0
    for n in np.flatnonzero(links):
        ratio = H[:, n - 1] / H[:, n]
        total += (ratio - np.log(ratio) - 1).sum()
    return total


def engine(name, Y, divergence="itakura-saito", **how):
    measure = phinmf.divergences.DIVERGENCES.get(divergence, divergence)
    return ENGINES[name](Y, measure, **how)


def test_a_pull_is_the_derivative_times_the_activation(rng):
    """h ∂/∂h of the penalty is the pull on the denominator minus that on the numerator."""
    H, links = rng.random((3, 9)) + 0.1, np.array([0, 1, 1, 0, 1, 1, 1, 0, 0], bool)
    before, after = H.copy(), H.copy()
    before[:, 1:] = np.where(links[1:], H[:, :-1], H[:, 1:])
    after[:, :-1] = np.where(links[1:], H[:, 1:], H[:, :-1])
    neighbours = pull(H, before, after, np.ones(9))
    step = 1e-6
    for k, n in np.ndindex(H.shape):
        up, down = H.copy(), H.copy()
        up[k, n] += step
        down[k, n] -= step
        slope = (roughness(up, links) - roughness(down, links)) / (2 * step)
        expected = (neighbours.denominator - neighbours.numerator)[k, n]
        assert H[k, n] * slope == pytest.approx(expected, rel=1e-6, abs=1e-7)
    assert difference(H[:, 1:], H[:, :-1], links[1:]).sum() == pytest.approx(roughness(H, links))


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


@given(
    seed=st.integers(0, 2**32 - 1),
    N=st.integers(1, 12),
    C=st.integers(1, 2),
    divergence=st.sampled_from(DIVERGENCES),
    gamma=st.sampled_from([0.5, 0.8, 1.0]),
    smoothness=st.sampled_from([1e-3, 1.0, 300.0]),
    mu=st.sampled_from([0.0, 5.0]),
    name=st.sampled_from(["array", "compiled", "tensors"] if torch else ["array", "compiled"]),
)
def test_nmf_steps_never_raise_the_objective(seed, N, C, divergence, gamma, smoothness, mu, name):
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((C, 5, N)) * (rng.random(N) > 0.2)
    weights, links = rng.integers(0, 3, N).astype(float), rng.random(N) > 0.3
    measure = phinmf.divergences.DIVERGENCES.get(divergence, divergence)
    if name == "compiled" and not ENGINES[name].supports(measure):
        return
    on_tensors = name == "tensors"
    give = tensor if on_tensors else np.asarray
    kind = "array" if on_tensors else name
    frames = engine(kind, give(Y), divergence, weights=weights, links=links)
    H = rng.exponential(size=(3, N)) * (rng.random((3, N)) > 0.1)
    frames.set_activations(give(H))
    W = give(rng.dirichlet(np.ones(5), 3).T)
    model = Model(frames, Penalty(mu, smoothness))
    before = model.cost(W, 1e-3)
    for _ in range(6):
        W = nmf_step(frames, W, model.penalty, 1e-3, gamma)
        after = model.cost(W, 1e-3)
        assert after <= before + 1e-10 * (abs(before) + Y.size)
        before = after
    H = host(frames.activations())
    expected = roughness_without_zeros(H, links_of(weights, links))
    assert frames.roughness() == pytest.approx(expected, rel=1e-9, abs=1e-9)


def roughness_without_zeros(H, links):
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = H[:, :-1] / H[:, 1:]
        costs = ratio - np.log(ratio) - 1
    linked = (H[:, 1:] > 0) & (H[:, :-1] > 0) & links[1:]
    return costs[linked].sum()


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
    assert links_of(weights, None).tolist() == [False, True, False, False, True, True]
    links = np.array([True, True, True, True, False, True])
    assert links_of(weights, links).tolist() == [False, True, False, False, False, True]
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


def test_new_frames_are_smooth_too():
    X = notes().T
    for solver in ("lbfgs", None):
        how = {"solver": solver, "max_iter": 20, "tol": 0, "random_state": 0}
        model = phinmf.TLNMF(3, smoothness=50.0, **how)
        H = model.fit_transform(X)
        assert np.allclose(model.transform(X), H, rtol=1e-9)
        again = phinmf.TLNMF(3, **how).fit(X).transform(X)
        links = np.arange(len(X)) > 0
        assert roughness(H.T, links) < roughness(again.T, links) / 2
        total = model.reconstruction_err_ + DEFAULT_SPARSITY * H.sum() / model.scale_**2
        total += 50.0 * roughness(H.T, links)
        assert model.objective_ == pytest.approx(total, rel=1e-6)


def test_what_cannot_be_served_is_said():
    Y = notes()
    with pytest.raises(ValueError, match="smoothness is 2, but the updates of Beta"):
        phinmf.tl_nmf(Y, 2, smoothness=2.0, divergence="euclidean")
    with pytest.raises(ValueError, match="smoothness is -1, but a finite number ≥ 0"):
        phinmf.tl_nmf(Y, 2, smoothness=-1)


def test_a_run_is_resumed_with_the_same_bits(tmp_path):
    how = {"smoothness": 5.0, "max_iter": 20, "random_state": 0, "tol": 0}
    file = phinmf.Checkpoint(tmp_path / "run.npz", every=0, resume=True)
    whole = phinmf.tl_nmf(notes(), 2, **how)
    phinmf.tl_nmf(notes(), 2, checkpoint=file, callback=lambda s: s.iteration == 12, **how)
    again = phinmf.tl_nmf(notes(), 2, checkpoint=file, **how)
    assert np.array_equal(again.H, whole.H)
    with pytest.raises(ValueError, match="smoothness is 5.0, here it is 6.0"):
        phinmf.tl_nmf(notes(), 2, checkpoint=file, **how | {"smoothness": 6.0})
