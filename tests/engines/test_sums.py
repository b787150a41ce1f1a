"""The sums over frames for a batch are those of each problem by itself."""

import numpy as np
import pytest
from problems import TESTED, divergence_named
from tensor_problems import host, tensor

from phinmf.engines import sums

B, M, N, K, EPS = 3, 5, 40, 2, 1e-2


@pytest.fixture(params=[1, 2], ids=["mono", "stereo"])
def batch(request, rng):
    """X, W, H of a batch."""
    C = request.param
    return rng.standard_normal((B, C, M, N)), rng.random((B, M, K)), rng.random((B, K, N))


WEIGHTS = {
    "none": lambda rng: None,
    "of all": lambda rng: rng.random(N) + 0.5,
    "shared": lambda rng: rng.random((1, N)) + 0.5,
    "of each": lambda rng: rng.random((B, N)) + 0.5,
}


def every_sum(d, X, W, H, weights, ones):
    """All sums over frames; `ones` is where None does not stand for weights of 1."""
    V, v_hat = sums.power(X), W @ H + EPS
    f_prime = sums.slopes(d, X, V, v_hat, EPS, weights)
    yield V
    yield sums.frame_losses(d, V, v_hat, EPS)
    yield sums.loss(d, V, v_hat, EPS, ones if weights is None else weights)
    yield f_prime
    yield sums.gradient(f_prime, X)
    yield sums.curvature(d.bound(V, v_hat, EPS), V, weights)
    yield sums.curvature(d.curvature(V, v_hat, EPS), V, weights)
    yield sums.updated_activations(d, V, W, H, 0.7, EPS, 0.5)
    yield from sums.dictionary_sums(d, V, W, H, EPS, weights)


@pytest.mark.parametrize("divergence", TESTED)
@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("give", [np.asarray, tensor])
def test_a_batch_is_each_problem_by_itself(batch, divergence, kind, give, rng):
    d, weights = divergence_named(divergence), WEIGHTS[kind](rng)
    one = np.ones(N)
    given = None if weights is None else give(weights)
    together = list(every_sum(d, *map(give, batch), given, give(one)))
    for b in range(B):
        own = None if weights is None else np.broadcast_to(weights, (B, N))[b]
        alone = every_sum(d, *(a[b] for a in batch), own, one)
        for found, expected in zip(together, alone, strict=True):
            np.testing.assert_allclose(host(found)[b], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precisions_are_kept_and_losses_are_double(batch, dtype, rng):
    d, weights = divergence_named("itakura-saito"), rng.random((B, N))
    arrays = [a.astype(dtype) for a in batch]
    found = list(every_sum(d, *arrays, weights, weights))
    in_double = found[1:3]
    assert all(a.dtype == np.float64 for a in in_double)
    assert all(a.dtype == dtype for a in found[:1] + found[3:])


def test_the_sums_of_one_problem_are_their_definitions(rng):
    d, weights = divergence_named("itakura-saito"), rng.integers(1, 4, N).astype(float)
    X, W, H = rng.standard_normal((2, M, N)), rng.random((M, K)), rng.random((K, N))
    V, v_hat = (X**2).mean(axis=0), W @ H + EPS
    slope = d.slope(V, v_hat, EPS) * weights
    G = np.einsum("in,cin,cjn->ij", slope, X, X) / 2
    h = np.einsum("in,jn,n->ij", d.bound(V, v_hat, EPS), V, weights)
    f_prime = sums.slopes(d, X, V, v_hat, EPS, weights)
    np.testing.assert_allclose(sums.power(X), V)
    np.testing.assert_allclose(sums.gradient(f_prime, X), G)
    np.testing.assert_allclose(sums.curvature(d.bound(V, v_hat, EPS), V, weights), h)
    total = (d.value(V, v_hat, EPS) * weights).sum()
    assert sums.loss(d, V, v_hat, EPS, weights) == pytest.approx(total, rel=1e-13)
    found = sums.dictionary_sums(d, V, W, H, EPS, weights)
    P, Q = d.nmf_split(V, v_hat, EPS)
    np.testing.assert_allclose(found.numerator, (P * weights) @ H.T)
    np.testing.assert_allclose(found.denominator, (Q * weights) @ H.T)
    np.testing.assert_allclose(found.activation, H @ weights)
