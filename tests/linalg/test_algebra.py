import numpy as np
import pytest

from phinmf.arrays.threads import Workers
from phinmf.linalg.algebra import Algebra
from phinmf.linalg.manifold import skew


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
