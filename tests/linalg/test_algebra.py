import numpy as np
import pytest
from tensor_problems import needs_torch

from phinmf.arrays.threads import Workers
from phinmf.linalg.algebra import Algebra, DeviceAlgebra
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


@pytest.mark.full
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_on_a_device(dtype, rng):
    """Arrays of NumPy in and out, in the same precision, whatever their layout."""
    needs_torch()
    here, there = Algebra(), DeviceAlgebra("cpu")
    A, B = (rng.standard_normal((2, 40, 40)) / 40).astype(dtype)
    S = np.eye(40, dtype=dtype) - (A - A.T)
    for name, args in {
        "product": (A.T, B[::-1]),
        "inverse": (S,),
        "exponential": (A - A.T,),
    }.items():
        found, expected = (getattr(algebra, name)(*args) for algebra in (there, here))
        assert isinstance(found, np.ndarray)
        assert found.dtype == dtype
        assert found.flags.writeable
        tolerance = 1e-12 if dtype == np.float64 else 1e-5
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
