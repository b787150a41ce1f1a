"""Which atoms and planes several starts share, on transforms whose planes are constructed."""

import importlib
from pathlib import Path

import numpy as np
import pytest

import phinmf
from phinmf.analysis import match_atoms, strongest_atoms
from phinmf.linalg.manifold import dct, givens, random_orthogonal


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


def test_every_plane_keeps_its_span_and_other_atoms_stay(paper, rng):
    planes, Phi = paper("planes"), rotated(rng, even_and_odd(rng), 8)
    result = planes.canonical(Phi)
    for plane in result.planes:
        assert planes.subspace_overlap(result.atoms[plane], Phi[plane]) == pytest.approx(1)
    others = np.setdiff1d(np.arange(len(Phi)), result.planes)
    assert np.array_equal(result.atoms[others], Phi[others])
    assert np.allclose(result.atoms @ result.atoms.T, np.eye(len(Phi)))
    assert (result.atoms * Phi).sum(axis=1).min() >= np.sqrt(0.5) - 1e-12  # the nearer atom
    assert np.array_equal(planes.canonical(result.atoms).atoms, result.atoms)


def test_transforms_without_such_planes_stay_as_they_are(paper, rng):
    for Phi in (dct(32), random_orthogonal(32, rng), even_and_odd(rng).astype(np.float32)):
        result = paper("planes").canonical(Phi)
        assert result.planes.shape == (0, 2)
        assert np.array_equal(result.atoms, Phi)
        assert result.atoms.dtype == Phi.dtype


@pytest.mark.parametrize("least", [0.5, 0.9])
def test_planes_below_the_least_symmetry_are_left_alone(paper, least):
    """A plane whose even atom is mixed with an odd part of the rest has symmetry 0.7."""
    tilt = np.arccos(np.sqrt((1 + 0.7) / 2))  # φᵀJφ = cos² - sin² = 0.7
    Phi = givens(32, 2, 3, 0.6) @ givens(32, 3, 20, tilt) @ dct(32)
    assert ([2, 3] in paper("planes").canonical(Phi, least).planes.tolist()) == (least < 0.7)


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


def test_a_tilted_plane_is_a_block_up_to_an_angle(paper, rng):
    atom_blocks, A = paper("planes").atom_blocks, random_orthogonal(12, rng)
    tilt = 0.4  # row 1 and row 2 leave the plane of the block
    B = givens(12, 0, 1, 0.7) @ givens(12, 1, 2, tilt) @ A
    (block,) = atom_blocks(A, B, least=0.9)
    assert block.first == (0, 1)
    assert block.cosine == pytest.approx(np.cos(tilt))
    assert atom_blocks(A, B, least=0.95) == []


def test_an_atom_is_as_reliable_as_the_share_of_other_runs_that_have_it(paper, rng):
    basis = random_orthogonal(40, rng)
    runs = [basis[[0, 1, 2]], -basis[[0, 1, 3]], basis[[0, 2, 1]], basis[[4, 1, 0]]]
    result = paper("stability").stability(runs)
    assert result.reliability.tolist() == pytest.approx([1.0, 1.0, 1 / 3, 0.0, 0.0])
    assert abs(result.atoms[2] @ basis[2]) == pytest.approx(1)
    for run, labels in zip(runs, result.labels, strict=True):
        assert np.allclose(np.abs((run * result.atoms[labels]).sum(axis=1)), 1)


def test_the_average_of_shuffled_copies_is_the_original(paper, rng):
    Phi = random_orthogonal(12, rng)
    runs = []
    for angle in (-0.1, 0.0, 0.1):
        copy = givens(12, 3, 7, angle) @ Phi
        runs.append(rng.choice([-1.0, 1.0], (12, 1)) * copy[rng.permutation(12)])
    mean = paper("consensus").average_transform(runs)
    assert similarity(mean, Phi).min() == pytest.approx(1)
    assert np.allclose(mean @ mean.T, np.eye(12))


def test_a_consensus_of_two_groups_of_starts_has_the_same_atoms_and_a_lower_objective(paper, rng):
    M, N = 40, 600
    t, window = np.arange(M), np.sin(np.pi * (np.arange(M) + 0.5) / M)
    frequency = np.repeat(rng.choice([0.4, 0.9, 1.7], N // 20), 20)
    tones = np.cos(frequency * t[:, None] + rng.uniform(0, 2 * np.pi, N))
    Y = window[:, None] * tones + 0.01 * rng.standard_normal((M, N))
    fits = [phinmf.tl_nmf(Y, 3, init="random", sparsity=150.0, random_state=s) for s in range(4)]
    consensus = paper("consensus")
    groups = [
        phinmf.tl_nmf(
            Y, 3, init=consensus.canonical_average([fit.Phi for fit in fits[i : i + 2]]),
            sparsity=150.0, random_state=0, **consensus.REFINE,
        )
        for i in (0, 2)
    ]  # fmt: skip
    single, agreed = (
        similarity(*(strongest_atoms(fit.Phi, Y, 6) for fit in pair))
        for pair in (fits[1:3], groups)
    )
    assert (single > 0.9).sum() < 6
    assert (agreed > 0.9).all()
    assert max(r.objective for r in groups) < min(fit.objective for fit in fits)
