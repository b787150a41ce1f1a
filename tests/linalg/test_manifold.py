import numpy as np
import pytest
import scipy.fft

from phinmf.arrays.threads import Workers
from phinmf.linalg import manifold
from phinmf.linalg.algebra import Algebra
from phinmf.linalg.manifold import RETRACTIONS, Cayley, Exponential, skew


@pytest.mark.parametrize("name", sorted(RETRACTIONS))
@pytest.mark.parametrize("eta", [1e-3, 1.0, 7.0])
def test_retractions_are_orthogonal(name, eta, rng):
    E = skew(rng.standard_normal((9, 9)))
    assert manifold.orthogonality_error(RETRACTIONS[name].point(E, eta)) < 1e-12
    assert np.allclose(RETRACTIONS[name].point(E, 0.0), np.eye(9))
    fortran = RETRACTIONS[name].point(np.asfortranarray(E), eta)
    assert np.allclose(fortran, RETRACTIONS[name].point(E, eta))


def test_cayley_agrees_with_exp_to_second_order(rng):
    E = skew(rng.standard_normal((6, 6)))
    error = [np.linalg.norm(Cayley.point(E, t) - Exponential.point(E, t)) for t in (1e-2, 5e-3)]
    assert error[0] / error[1] == pytest.approx(8, rel=0.02)
    assert error[0] == pytest.approx(np.linalg.norm((1e-2 * E) @ E @ E * 1e-4) / 12, rel=0.05)


def test_polar_is_the_paper_s_projection(rng):
    C = rng.standard_normal((7, 7))
    values, vectors = np.linalg.eigh(C @ C.T)
    assert np.allclose(manifold.polar(C), vectors @ np.diag(values**-0.5) @ vectors.T @ C)


def test_polish_squares_the_error(rng):
    Phi = manifold.random_orthogonal(20, rng) + 1e-6 * rng.standard_normal((20, 20))
    assert manifold.orthogonality_error(Phi) > 1e-7
    assert manifold.orthogonality_error(manifold.polish(Phi)) < 1e-10


def test_givens_rotates_two_rows(rng):
    R = manifold.givens(5, 1, 3, 0.3)
    X = rng.standard_normal((5, 4))
    assert manifold.orthogonality_error(R) < 1e-15
    assert np.allclose((R @ X)[1], np.cos(0.3) * X[1] + np.sin(0.3) * X[3])
    assert np.allclose((R @ X)[3], np.cos(0.3) * X[3] - np.sin(0.3) * X[1])
    assert np.array_equal((R @ X)[[0, 2, 4]], X[[0, 2, 4]])


def test_random_orthogonal_is_uniform(rng):
    draws = np.array([manifold.random_orthogonal(3, rng) for _ in range(4000)])
    # Haar: every entry has mean 0 and variance 1/M, both determinants are equally likely
    assert np.abs(draws.mean(axis=0)).max() < 5 * np.sqrt(1 / 3 / 4000)
    assert np.abs((draws**2).mean(axis=0) - 1 / 3).max() < 0.03
    assert abs(np.linalg.det(draws).mean()) < 5 / np.sqrt(4000)


def test_dct_is_scipy_s(rng):
    x = rng.standard_normal(12)
    assert np.allclose(manifold.dct(12) @ x, scipy.fft.dct(x, norm="ortho"))


def test_inner_product_of_single_precision_is_summed_in_double():
    A = np.full((300, 300), 0.1, dtype=np.float32)
    assert manifold.inner(A, A) == pytest.approx(float(np.float32(0.1)) ** 2 * 90000, rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("M", [2, 17, 440])
def test_what_is_orthogonal_stays_as_it_is(M, dtype):
    """The same bits; an error of ten times the rounding is corrected."""
    Phi = manifold.dct(M, dtype)
    assert np.array_equal(manifold.exactly_orthogonal(Phi, dtype), Phi)
    eps = np.finfo(dtype).eps
    bent = Phi.astype(np.float64) * (1 + 20 * eps)
    assert not manifold.nearly_orthogonal(bent, np.dtype(dtype))
    polished = manifold.exactly_orthogonal(bent.astype(dtype), dtype)
    assert manifold.nearly_orthogonal(polished, np.dtype(dtype))


def test_cosines_are_exact_for_long_frames():
    """Also where the angle of a cosine is thousands of periods."""
    M = 3000
    m, n = M - 1, M - 1
    turn = m * (2 * n + 1) % (4 * M)  # in whole numbers
    assert manifold.dct(M)[m, n] == pytest.approx(
        np.sqrt(2 / M) * np.cos(np.pi * turn / (2 * M)), rel=1e-13
    )


@pytest.mark.parametrize("M", [1, 2, 100, 129, 300, 441])
@pytest.mark.parametrize("norm", [1e-3, 1.0, 30.0])
def test_inverse_of_identity_minus_antisymmetric(M, norm, rng):
    S = skew(rng.standard_normal((M, M)))
    A = np.eye(M) - norm * S / max(np.linalg.norm(S, 2), 1e-300)
    before = A.copy()
    with Workers(2) as workers:
        inverse = Algebra(workers).inverse(A)
    assert np.abs(inverse @ A - np.eye(M)).max() < 1e-12 * max(1, norm)
    assert np.array_equal(A, before)
    with Workers(1) as alone:
        assert np.array_equal(inverse, Algebra(alone).inverse(A))  # the same bits


@pytest.mark.parametrize("shape", [(1, 1, 1), (50, 7, 3), (400, 400, 400)])
def test_product(shape, rng):
    m, k, n = shape
    A, B = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    with Workers(2) as workers:
        C = Algebra(workers).product(A, B)
    assert np.allclose(C, A @ B)
    with Workers(1) as alone:
        assert np.array_equal(C, Algebra(alone).product(A, B))
