"""The readable sums over frames are their definitions."""

import numpy as np
import pytest
from problems import divergence_named

from phinmf.engines import sums

M, N, K, EPS = 5, 40, 2, 1e-2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precisions_are_kept_and_losses_are_double(dtype, rng):
    d, weights = divergence_named("itakura-saito"), rng.random(N)
    X, W, H = (rng.random(s).astype(dtype) for s in ((2, M, N), (M, K), (K, N)))
    V, v_hat = sums.power(X), W @ H + EPS
    f_prime = sums.slopes(d, X, V, v_hat, EPS, weights)
    in_double = sums.frame_losses(d, V, v_hat, EPS), sums.loss(d, V, v_hat, EPS, weights)
    kept = (
        V, f_prime, sums.gradient(f_prime, X),
        sums.curvature(d.bound(V, v_hat, EPS), V, weights),
        sums.updated_activations(d, V, W, H, 0.7, EPS, 0.5),
        *sums.dictionary_sums(d, V, W, H, EPS, weights),
    )  # fmt: skip
    assert all(a.dtype == np.float64 for a in in_double)
    assert all(a.dtype == dtype for a in kept)


def test_the_sums_are_their_definitions(rng):
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
