"""Leading eigenvectors without all the others, and those of few frames."""

import numpy as np
import pytest
from few_atoms import check_few, same_bits, sound
from tensor_problems import host, tensor

from phinmf import tl_nmf
from phinmf.fit import few_atoms
from phinmf.inits import covariance as eigenvectors
from phinmf.inits.covariance import karhunen_loeve
from phinmf.linalg.manifold import random_orthogonal

KINDS = pytest.mark.parametrize("kind", [np.asarray, tensor])
HOW = {"n_components": 2, "max_iter": 6, "tol": 0, "random_state": 0}


@pytest.fixture
def small(monkeypatch):
    """Blocks of eigenvectors are used for small matrices, too."""
    monkeypatch.setattr(eigenvectors, "LARGE", 60)
    monkeypatch.setattr(eigenvectors, "FIRST", 16)
    monkeypatch.setattr(few_atoms, "LARGE", 60)


def with_spectrum(values, rng):
    U = random_orthogonal(len(values), rng)
    return U.T @ (values[:, None] * U), U


def enough(P):
    return lambda powers, trace: P if len(powers) >= P else None


@KINDS
@pytest.mark.parametrize("P", [1, 3, 7, 13])
def test_the_strongest_atoms_and_a_basis_of_the_rest(small, kind, P, rng):
    values = 0.7 ** np.arange(64.0)
    A, _ = with_spectrum(values, rng)
    rows, powers = eigenvectors.leading(kind(A), enough(P))
    rows = host(rows)
    np.testing.assert_allclose(rows @ rows.T, np.eye(64), atol=1e-13)
    np.testing.assert_allclose(powers[:P], np.diag(rows @ A @ rows.T)[:P], rtol=1e-9)
    assert (powers[:P] <= values[:P] * (1 + 1e-9)).all()
    assert powers[:P].sum() > 0.999 * values[:P].sum()
    assert powers.sum() == pytest.approx(values.sum(), rel=1e-9)
    assert (np.diff(powers) <= 1e-12).all()


@pytest.mark.parametrize("P", [15, 40, 63])
def test_for_many_atoms_all_are_computed(small, P, rng):
    A, _ = with_spectrum(np.linspace(2, 1, 64), rng)
    rows, powers = eigenvectors.leading(A, enough(P))
    np.testing.assert_allclose(rows @ A @ rows.T, np.diag(powers), atol=1e-12)
    np.testing.assert_allclose(powers, np.linspace(2, 1, 64), rtol=1e-12)


@KINDS
@pytest.mark.parametrize("n_atoms", [5, 0.99, 0.999])
def test_a_fit_with_a_long_window(small, monkeypatch, kind, n_atoms):
    """As with all eigenvectors, but for the rows that are not learned."""
    Y = sound(M=72, n=20_000)[0]
    few = tl_nmf(kind(Y), n_atoms=n_atoms, **HOW)
    monkeypatch.setattr(few_atoms, "LARGE", 2048)
    whole = tl_nmf(kind(Y), n_atoms=n_atoms, **HOW)
    assert few.n_atoms == whole.n_atoms
    assert few.energy == pytest.approx(whole.energy, rel=1e-4)
    Phi = host(few.Phi)
    np.testing.assert_allclose(Phi @ Phi.T, np.eye(72), atol=1e-12)
    check_few(whole, Y, whole.n_atoms, {})
    assert few.objective < few.history.start
    if isinstance(n_atoms, float):
        assert few.energy >= n_atoms * (1 - 1e-12)


@KINDS
@pytest.mark.parametrize("C", [1, 2])
@pytest.mark.parametrize("weighted", [True, False])
def test_few_frames_have_the_eigenvectors_of_their_covariance(kind, C, weighted, rng):
    """Without a covariance, whose rounding would hide the weak ones."""
    Y = rng.standard_normal((C, 30, 7)) * np.logspace(0, -5, 7)
    weights = rng.integers(1, 4, 7).astype(float) if weighted else None
    rows, powers = karhunen_loeve(kind(Y), weights)
    rows, w = host(rows), np.ones(7) if weights is None else weights
    A = np.einsum("cin,cjn,n->ij", Y, Y, w) / (C * w.sum())
    np.testing.assert_allclose(rows @ rows.T, np.eye(30), atol=1e-13)
    np.testing.assert_allclose(rows @ A @ rows.T, np.diag(powers), atol=1e-15 * 30 * powers[0])
    assert np.count_nonzero(powers) <= 7 * C
    assert (np.diff(powers) <= 0).all()


@pytest.mark.full
@pytest.mark.parametrize("n_atoms", [4, None])
def test_few_frames_of_a_dask_array_give_the_same_bits(n_atoms):
    da = pytest.importorskip("dask.array")
    Y = sound(M=24)[0][:, 30:41]
    in_memory = tl_nmf(Y, n_atoms=n_atoms, engine="compiled", **HOW)
    lazy = tl_nmf(da.from_array(Y, chunks=(-1, 4)), n_atoms=n_atoms, **HOW)
    assert same_bits(in_memory, lazy)
