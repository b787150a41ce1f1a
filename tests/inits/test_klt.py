"""The Karhunen–Loève transform as a start."""

import numpy as np
import pytest
from problems import notes

import phinmf
from phinmf.analysis import karhunen_loeve
from phinmf.inits import KLT, Frames
from phinmf.inits.covariance import covariance
from phinmf.linalg.manifold import random_orthogonal


def test_rows_diagonalise_the_weighted_covariance_strongest_first(rng):
    Y, weights = rng.standard_normal((2, 6, 50)), rng.random(50) + 0.1
    Y *= np.arange(1, 7)[::-1, None]
    expected = np.einsum("cin,cjn,n->ij", Y, Y, weights) / 2
    found = covariance(Y, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    Phi = KLT().start(Frames(Y, weights), rng, np.float64)
    energies = Phi @ expected @ Phi.T
    np.testing.assert_allclose(energies, np.diag(np.diag(energies)), atol=1e-10 * energies.max())
    assert (np.diff(np.diag(energies)) < 0).all()


@pytest.mark.parametrize("M", [8, 33])
def test_the_sign_does_not_depend_on_rounding(M, rng):
    """Eigenvectors of a stationary signal are symmetric: two entries are the largest."""
    lags = np.abs(np.subtract.outer(np.arange(M), np.arange(M)))
    Y = np.linalg.cholesky(0.9**lags)
    one = KLT().start(Frames(Y[None]), rng, np.float64)
    sizes = np.abs(one)
    largest = np.isclose(sizes, sizes.max(axis=1, keepdims=True), rtol=1e-9)
    assert (largest.sum(axis=1) == 2).any()
    for _ in range(5):  # the same covariance, rounded otherwise
        other = KLT().start(Frames((Y @ random_orthogonal(M, rng))[None]), rng, np.float64)
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_a_low_rank_recording_gets_a_whole_basis(rng):
    Y = rng.standard_normal((1, 20, 3)).astype(np.float32)
    Phi = KLT().start(Frames(Y), rng, np.float64)
    np.testing.assert_allclose(Phi @ Phi.T, np.eye(20), atol=1e-12)
    assert (np.abs(Phi[3:] @ Y[0]) < 1e-6).all()


def test_the_analysis_has_the_same_transform(rng):
    Y = notes()
    expected = KLT().start(Frames(Y[None]), rng, np.float64)
    assert np.array_equal(karhunen_loeve(Y), expected)


def test_a_fit_sees_weights_and_masks():
    Y = notes()
    mask = np.arange(Y.shape[1]) % 3 == 0
    how = {"init": "klt", "max_iter": 0, "tol": 0, "random_state": 0}
    masked = phinmf.tl_nmf(Y, 2, sample_weight=~mask, **how).Phi
    alone = phinmf.tl_nmf(Y[:, ~mask], 2, **how).Phi
    np.testing.assert_allclose(masked, alone, atol=1e-9)
    assert not np.allclose(masked, phinmf.tl_nmf(Y, 2, **how).Phi, atol=1e-3)


@pytest.mark.full
def test_on_dask_frames():
    da = pytest.importorskip("dask.array")
    Y = notes(n=20000)
    how = {"init": "klt", "max_iter": 2, "tol": 0, "random_state": 0}
    here = phinmf.tl_nmf(Y, 2, **how)
    for chunk in (300, 1000):
        lazy = phinmf.tl_nmf(da.from_array(Y, chunks=(-1, chunk)), 2, **how)
        assert np.array_equal(lazy.Phi, here.Phi)
        assert lazy.objective == here.objective
