"""Which atoms and planes several starts share, on transforms whose planes are constructed."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from phinmf.analysis import match_atoms
from phinmf.linalg.manifold import givens, random_orthogonal


@pytest.fixture
def paper(monkeypatch):
    """The functions of paper/planes.py, stability.py and consensus.py."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "paper")
    return importlib.import_module


def even_and_odd(rng, M=24):
    """A random orthogonal matrix whose rows are even (the first half) and odd."""
    half = M // 2
    even, odd = random_orthogonal(half, rng), random_orthogonal(half, rng)
    return np.block([[even, even[:, ::-1]], [odd, -odd[:, ::-1]]]) / np.sqrt(2)


def rotated(rng, Phi, planes):
    """Phi with its first pairs (even i, odd i) rotated by random angles, shuffled, with signs."""
    M = len(Phi)
    p = np.arange(planes)
    order, signs = rng.permutation(M), rng.choice([-1.0, 1.0], (M, 1))
    angles = rng.uniform(-np.pi, np.pi, planes)
    return (signs * (givens(M, p, p + M // 2, angles) @ Phi))[order]


def similarity(A, B):
    return match_atoms(A, B).similarity


@pytest.mark.parametrize("planes", [1, 5, 12])
def test_rotated_planes_come_back_exactly(paper, rng, planes):
    canonical, Phi = paper("planes").canonical, even_and_odd(rng)
    A, B = (rotated(rng, Phi, planes) for _ in range(2))
    result = canonical(A)
    assert len(result.planes) == planes
    assert np.allclose(result.symmetry, 1)
    assert similarity(result.atoms, Phi).min() == pytest.approx(1, abs=1e-12)
    assert similarity(result.atoms, canonical(B).atoms).min() == pytest.approx(1, abs=1e-12)
    assert (similarity(A, B) < 0.9999).any()


def test_rotated_pairs_are_blocks_and_the_order_shows_them(paper, rng):
    planes, A = paper("planes"), random_orthogonal(12, rng)
    p = 2 * np.arange(3)
    order = rng.permutation(12)
    B = (givens(12, p, p + 1, np.array([0.7, 0.4, -0.8])) @ A)[order]
    blocks = planes.atom_blocks(A, B)
    assert sorted(block.first for block in blocks) == [(0, 1), (2, 3), (4, 5)]
    for block in blocks:
        assert {*order[[*block.second]].tolist()} == {*block.first}
        assert block.cosine == pytest.approx(1)
    rows, columns = planes.block_order(A, B)
    assert sorted(rows) == sorted(columns) == list(range(12))
    allowed = np.eye(12, dtype=bool)
    for start in (6, 8, 10):
        allowed[start : start + 2, start : start + 2] = True
    assert np.allclose((A[rows] @ B[columns].T)[~allowed], 0)
    assert planes.atom_blocks(A, A) == []
