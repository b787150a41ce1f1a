"""The subspace of few atoms: counting atoms, and iterates with more or fewer of them."""

import dataclasses

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from problems import notes, seeds
from tensor_problems import host, tensor

from phinmf.algorithm.model import Iterate
from phinmf.algorithm.subspace import Subspace
from phinmf.inits import Frames
from phinmf.linalg.manifold import random_orthogonal

DTYPES = [np.float32, np.float64]
KINDS = pytest.mark.parametrize("kind", [np.asarray, tensor])


def subspace_of(Y, weights=None):
    Y = Y[None] if Y.ndim == 2 else Y
    return Subspace(*Frames(Y, weights).karhunen_loeve)


@dataclasses.dataclass
class Case:
    """A subspace, a number of atoms and an iterate with these."""

    M: int
    P: int
    K: int
    seed: int
    dtype: type = np.float64

    def __post_init__(self):
        self.rng = np.random.default_rng(self.seed)
        U = random_orthogonal(self.M, self.rng)
        powers = np.sort(self.rng.exponential(size=self.M))[::-1].copy()
        self.subspace = Subspace(U, powers)

    def iterate(self, n_atoms):
        W = self.rng.random((n_atoms, self.K))
        W, H = W / W.sum(axis=0), self.rng.random((self.K, 9))
        Q = random_orthogonal(n_atoms, self.rng)
        return Iterate(*(a.astype(self.dtype) for a in (Q, W, H)))


@st.composite
def cases(draw):
    M = draw(st.integers(2, 12))
    dtype = draw(st.sampled_from(DTYPES))
    return Case(M, draw(st.integers(1, M - 1)), draw(st.integers(1, 3)), draw(seeds), dtype)


@KINDS
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("P", [1, 5, 23, 24])
def test_the_transform_is_orthogonal_and_ends_with_the_other_eigenvectors(kind, dtype, P, rng):
    space = subspace_of(kind(notes(24, 1200)))
    Q = kind((random_orthogonal(P, rng) + 1e-6 * rng.standard_normal((P, P))).astype(dtype))
    Phi = host(space.transform(Q))
    assert Phi.dtype == np.float64
    assert abs(Phi @ Phi.T - np.eye(24)).max() < 20 * np.finfo(np.float64).eps
    np.testing.assert_array_equal(Phi[P:], host(space.basis)[P:])
    np.testing.assert_allclose(Phi[:P] @ host(space.basis)[:P].T, host(Q), atol=1e-5)


@pytest.mark.parametrize("kind", ["wide", "silent rows", "constant", "one frame"])
@pytest.mark.parametrize("P", [1, 3, 11])
def test_frames_without_energy_in_some_directions(kind, P, rng):
    Y = rng.standard_normal((12, 5))
    if kind == "silent rows":
        Y = np.concatenate([np.zeros((6, 40)), rng.standard_normal((6, 40))])
    if kind == "constant":
        Y = np.ones((12, 30))
    if kind == "one frame":
        Y = Y[:, :1]
    space = subspace_of(Y)
    assert (space.powers >= 0).all()
    assert (np.diff(space.powers) <= 0).all()
    rank = np.linalg.matrix_rank(Y)
    assert space.holding(1 - 1e-9) == rank
    assert space.share(rank) == pytest.approx(1, abs=1e-12)
    for Phi in (np.eye(12), random_orthogonal(12, rng), space.basis):
        rows, Q = space.strongest(Phi, P)
        np.testing.assert_allclose(Q @ Q.T, np.eye(P), atol=1e-12)
        assert len(np.unique(rows)) == P
        whole = space.transform(Q)
        np.testing.assert_allclose(whole @ whole.T, np.eye(12), atol=1e-12)


@given(cases())
def test_numbers_of_atoms_by_brute_force(case):
    space, powers = case.subspace, case.subspace.powers
    for P in range(1, case.M + 1):
        share = sum(powers[:P]) / sum(powers)
        assert space.share(P) == pytest.approx(share, rel=1e-12)
        assert space.holding(space.share(P) * (1 - 1e-9)) == P
        if P < case.M:
            assert space.holding(space.share(P) * (1 + 1e-9)) == P + 1
        assert space.count(powers[P - 1]) == sum(p >= powers[P - 1] for p in powers)
    assert space.count(0) == case.M
    assert space.count(2 * powers[0]) == 0


@given(cases())
def test_an_iterate_that_is_completed_and_reduced_comes_back(case):
    at = case.iterate(case.P)
    whole = case.subspace.with_atoms(at, case.M)
    back = case.subspace.reduced(whole, case.P, keeps_scale=False)
    tolerance = 1e-5 if case.dtype == np.float32 else 1e-12
    inside = np.square(host(back.Phi).astype(np.float64)) @ case.subspace.powers[: case.P]
    outside = case.subspace.powers[case.P :]
    if inside.min() > outside.max() * (1 + 1e-3):  # else another atom of U is stronger
        np.testing.assert_allclose(back.Phi, at.Phi, atol=tolerance)
        np.testing.assert_allclose(back.W, at.W, rtol=100 * tolerance)


@given(cases(), st.booleans())
def test_new_atoms_have_their_mean_power_and_leave_the_model_of_the_others(case, keeps_scale):
    before = case.iterate(case.P)
    mean = case.subspace.powers
    tolerance = 1e-4 if case.dtype == np.float32 else 1e-10
    for P in range(case.P + 1, case.M + 1):
        at = case.subspace.with_atoms(before, P, keeps_scale)
        assert {a.dtype for a in (at.W, at.H)} == {np.dtype(case.dtype)}
        assert at.Phi.dtype == (case.dtype if P < case.M else np.float64)
        model = at.W @ at.H
        np.testing.assert_allclose(model[: case.P], before.W @ before.H, rtol=tolerance)
        np.testing.assert_allclose(
            model[case.P :].mean(axis=1), mean[case.P : P], rtol=tolerance, atol=1e-30
        )
        if keeps_scale:
            assert np.array_equal(at.H, before.H)
        else:
            np.testing.assert_allclose(at.W.sum(axis=0), 1, rtol=tolerance)
        Q = at.Phi if P < case.M else at.Phi @ case.subspace.basis.T
        expected = np.eye(P)
        expected[: case.P, : case.P] = before.Phi
        np.testing.assert_allclose(Q, expected, atol=tolerance)


@given(cases(), st.data())
def test_an_iterate_may_have_fewer_atoms_than_before(case, data):
    """A run that is resumed with a longer schedule goes back to a higher floor."""
    P = data.draw(st.integers(1, case.P))
    at = case.subspace.with_atoms(case.iterate(case.P), P)
    assert at.Phi.shape == (P, P)
    assert at.W.shape == (P, case.K)
    np.testing.assert_allclose(at.Phi @ at.Phi.T, np.eye(P), atol=1e-5)
    np.testing.assert_allclose(at.W.sum(axis=0), 1, rtol=1e-4)


@KINDS
@pytest.mark.parametrize("level", [0, 1e-44, 1e-36, 1e-31])
def test_activations_of_nearly_zero_get_atoms_too(level, kind):
    """A strong penalty may switch all activations off."""
    case = Case(6, 3, 2, 0, np.float32)
    space = Subspace(kind(case.subspace.basis), case.subspace.powers)
    at = case.iterate(3)
    off = Iterate(*map(kind, (at.Phi, at.W, np.full_like(at.H, level))))
    grown = space.with_atoms(off, 6)
    assert np.isfinite(host(grown.W)).all()
    np.testing.assert_allclose(host(grown.W).sum(axis=0), 1, rtol=1e-5)
    assert host(grown.W @ grown.H).max() < 1e-25
