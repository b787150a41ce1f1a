"""Names, objects and arrays that say where Φ starts, and the Karhunen–Loève transform."""

import numpy as np
import pytest
from formulas import covariance
from problems import notes
from tensor_problems import KINDS, host

import phinmf
from phinmf import tl_nmf
from phinmf.analysis import karhunen_loeve
from phinmf.inits import KLT, Frames
from phinmf.linalg.manifold import random_orthogonal


@pytest.mark.parametrize("M", [8, 33])
def test_the_sign_does_not_depend_on_rounding(M, rng):
    """Eigenvectors of a stationary signal are symmetric: two entries are the largest."""
    lags = np.abs(np.subtract.outer(np.arange(M), np.arange(M)))
    Y = np.linalg.cholesky(0.9**lags)
    Phi = KLT().start(Frames(Y[None]), rng, np.float64)
    sizes = np.abs(Phi)
    largest = np.isclose(sizes, sizes.max(axis=1, keepdims=True), rtol=1e-9)
    assert (largest.sum(axis=1) == 2).any()
    for _ in range(5):  # the same covariance, rounded otherwise
        turned = Frames((Y @ random_orthogonal(M, rng))[None])
        np.testing.assert_allclose(KLT().start(turned, rng, np.float64), Phi, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("N", [7, 60])
@pytest.mark.parametrize("C", [1, 2])
@pytest.mark.parametrize("weighted", [True, False])
def test_rows_are_eigenvectors_of_the_weighted_covariance_strongest_first(
    kind, N, C, weighted, rng
):
    """Of few frames without their covariance, whose rounding would hide the weak ones."""
    Y = rng.standard_normal((C, 30, N)) * np.logspace(0, -5, N)
    weights = rng.integers(1, 4, N).astype(float) if weighted else np.ones(N)
    frames = Frames(kind(Y), weights if weighted else None)
    rows, powers = (host(x) for x in frames.karhunen_loeve)
    np.testing.assert_allclose(rows @ rows.T, np.eye(30), atol=1e-13)
    np.testing.assert_allclose(
        rows @ covariance(Y, weights) @ rows.T, np.diag(powers), atol=1e-15 * 30 * powers[0]
    )
    assert np.count_nonzero(powers) <= N * C
    assert (np.diff(powers) <= 0).all()
    assert np.array_equal(host(KLT().start(frames, rng, np.float64)), rows)
    if not weighted:
        assert np.array_equal(host(karhunen_loeve(kind(Y))), rows)


@pytest.mark.parametrize("init", ["klt", "jd"])
def test_a_fit_passes_its_weights_to_the_start(init):
    """Frames of weight 0 do not count. A small fit sorts its frames; the start is in time order."""
    Y = notes()
    Y = np.concatenate([Y, Y[:, :7]], axis=1)
    weights = 1.0 + np.arange(Y.shape[1]) % 2
    weights[::5] = 0
    how = {"init": init, "max_iter": 0, "tol": 0, "random_state": 0}
    Phi = tl_nmf(Y, 2, sample_weight=weights, **how).Phi
    repeated = np.repeat(Y, weights.astype(int), axis=1)
    np.testing.assert_allclose(tl_nmf(repeated, 2, **how).Phi, Phi, atol=1e-8)
    frames = Frames(Y[None, :, weights > 0], weights[weights > 0])
    start = phinmf.inits.INITS[init]().start(frames, None, np.float64)
    np.testing.assert_allclose(start, Phi, atol=1e-8)
    assert not np.allclose(Phi, tl_nmf(Y, 2, **how).Phi, atol=1e-3)
