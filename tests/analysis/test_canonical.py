"""Canonical atoms of planes, on transforms whose planes are known."""

import numpy as np
import pytest

from phinmf.analysis import canonical, match_atoms, subspace_overlap
from phinmf.linalg.manifold import dct, givens, random_orthogonal


def even_and_odd(rng, M=24):
    """A random orthogonal matrix whose rows are even (the first half) and odd."""
    half = M // 2
    even, odd = random_orthogonal(half, rng), random_orthogonal(half, rng)
    return np.block([[even, even[:, ::-1]], [odd, -odd[:, ::-1]]]) / np.sqrt(2)


def turned(rng, Phi, planes):
    """Phi with its first `planes` pairs (even i, odd i) turned by random angles, shuffled."""
    M = len(Phi)
    p = np.arange(planes)
    order, signs = rng.permutation(M), rng.choice([-1.0, 1.0], (M, 1))
    angles = rng.uniform(-np.pi, np.pi, planes)
    return (signs * (givens(M, p, p + M // 2, angles) @ Phi))[order]


def agreement(A, B):
    return match_atoms(A, B).similarity


def test_turned_planes_come_back_exactly(rng):
    Phi = even_and_odd(rng)
    for planes in (1, 5, 12):
        mixed = turned(rng, Phi, planes)
        found = canonical(mixed)
        assert len(found.planes) == planes
        assert agreement(found.atoms, Phi).min() == pytest.approx(1, abs=1e-12)
        assert np.allclose(found.symmetry, 1)
        assert (agreement(mixed, Phi) < 0.9999).sum() > planes


def test_two_runs_agree_without_looking_at_each_other(rng):
    Phi = even_and_odd(rng)
    A, B = (turned(rng, Phi, 12) for _ in range(2))
    assert (agreement(A, B) > 0.95).mean() < 0.7
    assert agreement(canonical(A).atoms, canonical(B).atoms).min() > 1 - 1e-12


def test_planes_that_are_nearly_symmetric_agree_nearly(rng):
    Phi = even_and_odd(rng)
    noisy = [turned(rng, Phi, 12) + 0.01 * rng.standard_normal(Phi.shape) for _ in range(2)]
    A, B = (np.linalg.qr(run.T)[0].T for run in noisy)
    assert agreement(canonical(A).atoms, canonical(B).atoms).min() > 0.98


def test_every_plane_keeps_its_span_and_the_others_their_atoms(rng):
    Phi = turned(rng, even_and_odd(rng), 8)
    found = canonical(Phi)
    for plane in found.planes:
        assert subspace_overlap(found.atoms[plane], Phi[plane]) == pytest.approx(1)
    others = np.setdiff1d(np.arange(len(Phi)), found.planes)
    assert np.array_equal(found.atoms[others], Phi[others])
    assert np.allclose(found.atoms @ found.atoms.T, np.eye(len(Phi)))


def test_each_atom_is_replaced_by_the_nearer_one(rng):
    Phi = turned(rng, even_and_odd(rng), 12)
    cosines = (canonical(Phi).atoms * Phi).sum(axis=1)
    assert cosines.min() >= np.sqrt(0.5) - 1e-12


def test_transforms_without_such_planes_stay_as_they_are(rng):
    for Phi in (dct(32), random_orthogonal(32, rng), even_and_odd(rng)):
        found = canonical(Phi)
        assert found.planes.shape == (0, 2)
        assert np.array_equal(found.atoms, Phi)


def test_it_is_idempotent(rng):
    once = canonical(random_orthogonal(32, rng), least=0).atoms
    planes = canonical(turned(rng, even_and_odd(rng), 12)).atoms
    assert np.array_equal(canonical(planes).atoms, planes)
    assert np.allclose(once @ once.T, np.eye(32))


@pytest.mark.parametrize("least", [0.5, 0.9])
def test_planes_below_the_least_symmetry_are_left_alone(rng, least):
    """A plane whose even atom is mixed with an even part of the rest has a known symmetry."""
    Phi = dct(32)
    tilt = np.arccos(np.sqrt((1 + 0.7) / 2))  # φᵀJφ = cos² - sin² = 0.7
    Phi = givens(32, 3, 20, tilt) @ Phi  # row 3 is odd, row 20 even
    Phi = givens(32, 2, 3, 0.6) @ Phi
    planes = canonical(Phi, least).planes.tolist()
    assert ([2, 3] in planes) == (least < 0.7)


def test_some_atoms_alone_and_single_precision(rng):
    Phi = turned(rng, even_and_odd(rng), 12).astype(np.float32)
    found = canonical(Phi)
    assert found.atoms.dtype == np.float32
    few = canonical(Phi[found.planes[:2].ravel()])
    assert few.atoms.shape == (4, 24)
    assert len(few.planes) == 2


def test_a_steady_tone_gives_a_cosine_and_a_sine_about_the_middle(rng):
    """The two leading eigenvectors of its frames span the plane at an arbitrary angle."""
    M = 64
    t = np.arange(M) - (M - 1) / 2
    window = np.sin(np.pi * (np.arange(M) + 0.5) / M)
    pair = np.array([window * np.cos(0.9 * t), window * np.sin(0.9 * t)])
    pair /= np.linalg.norm(pair, axis=1, keepdims=True)
    found = canonical(givens(2, 0, 1, 1.1) @ pair)
    assert agreement(found.atoms, pair).min() == pytest.approx(1, abs=1e-12)


def test_errors_say_what_is_needed():
    with pytest.raises(ValueError, match="atoms as rows"):
        canonical(np.ones(4))
    with pytest.raises(ValueError, match="least"):
        canonical(np.eye(4), least=-1)
