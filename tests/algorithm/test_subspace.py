"""The subspace of few atoms: counting atoms, and iterates with more or fewer of them."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from problems import seeds
from tensor_problems import host, tensor

from phinmf.algorithm.model import Iterate
from phinmf.algorithm.subspace import Subspace
from phinmf.linalg.manifold import random_orthogonal

DTYPES = [np.float32, np.float64]
KINDS = pytest.mark.parametrize("kind", [np.asarray, tensor])


def problem(M, P, K, seed, dtype):
    """A random subspace, and an iterate with P atoms."""
    rng = np.random.default_rng(seed)
    space = Subspace(random_orthogonal(M, rng), np.sort(rng.exponential(size=M))[::-1].copy())
    W = rng.random((P, K))
    factors = random_orthogonal(P, rng), W / W.sum(axis=0), rng.random((K, 9))
    return space, Iterate(*(a.astype(dtype) for a in factors))


@given(
    P=st.integers(1, 11),
    more=st.integers(1, 6),
    K=st.integers(1, 3),
    seed=seeds,
    dtype=st.sampled_from([np.float32, np.float64]),
    keeps_scale=st.booleans(),
)
def test_new_atoms_have_their_mean_power_and_leave_the_model_of_the_others(
    P, more, K, seed, dtype, keeps_scale
):
    M = P + more
    space, before = problem(M, P, K, seed, dtype)
    tolerance = 1e-4 if dtype == np.float32 else 1e-10
    for n in range(P + 1, M + 1):
        iterate = space.with_atoms(before, n, keeps_scale)
        assert {a.dtype for a in (iterate.W, iterate.H)} == {np.dtype(dtype)}
        assert iterate.Phi.dtype == (dtype if n < M else np.float64)
        model, added = iterate.W @ iterate.H, space.powers[P:n]
        np.testing.assert_allclose(model[:P], before.W @ before.H, rtol=tolerance)
        np.testing.assert_allclose(model[P:].mean(axis=1), added, rtol=tolerance, atol=1e-30)
        if keeps_scale:
            assert np.array_equal(iterate.H, before.H)
        else:
            np.testing.assert_allclose(iterate.W.sum(axis=0), 1, rtol=tolerance)
        Q = iterate.Phi if n < M else iterate.Phi @ space.basis.T
        expected = np.eye(n)
        expected[:P, :P] = before.Phi
        np.testing.assert_allclose(Q, expected, atol=tolerance)


@given(P=st.integers(1, 8), more=st.integers(1, 4), K=st.integers(1, 3), seed=seeds)
def test_the_strongest_atoms_keep_their_rows_and_their_model(P, more, K, seed):
    """Up to a common factor of the model."""
    space, whole = problem(P + more, P + more, K, seed, np.float64)
    few = space.reduced(whole, P, keeps_scale=False)
    atoms, Q = space.strongest(whole.Phi, P)
    assert np.array_equal(few.Phi, Q)
    ratio = few.W @ few.H / (whole.W[atoms] @ whole.H)
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-10)
    np.testing.assert_allclose(few.W.sum(axis=0), 1, rtol=1e-12)


@KINDS
@pytest.mark.parametrize("level", [0, 1e-44, 1e-36, 1e-31])
def test_activations_of_nearly_zero_get_atoms_too(level, kind):
    """A strong penalty may switch all activations off."""
    space, iterate = problem(6, 3, 2, 0, np.float32)
    space = Subspace(kind(space.basis), space.powers)
    off = Iterate(*map(kind, (iterate.Phi, iterate.W, np.full_like(iterate.H, level))))
    grown = space.with_atoms(off, 6)
    assert np.isfinite(host(grown.W)).all()
    np.testing.assert_allclose(host(grown.W).sum(axis=0), 1, rtol=1e-5)
    assert host(grown.W @ grown.H).max() < 1e-25
