import numpy as np
import pytest

from phinmf.analysis import (
    atom_energies,
    atoms_for_energy,
    energy_curve,
    karhunen_loeve,
    strongest_atoms,
)
from phinmf.linalg.manifold import random_orthogonal


def test_energies_of_a_known_case():
    Y = np.diag([3.0, 2.0, 1.0, 0.0])[:, [3, 0, 1, 2]]
    assert np.array_equal(atom_energies(np.eye(4), Y), [9, 4, 1, 0])
    assert np.allclose(energy_curve(np.eye(4), Y), [9 / 14, 13 / 14, 1, 1])
    assert list(atoms_for_energy(np.eye(4), Y, [0.5, 0.9, 0.95, 1.0])) == [1, 2, 3, 3]


def test_energies_are_means_over_channels(rng):
    Y = rng.standard_normal((2, 5, 9))
    expected = (atom_energies(np.eye(5), Y[0]) + atom_energies(np.eye(5), Y[1])) / 2
    assert np.allclose(atom_energies(np.eye(5), Y), expected)


def test_strongest_atoms_come_in_order():
    Y = np.diag([1.0, 3.0, 2.0])
    assert np.array_equal(strongest_atoms(np.eye(3), Y, 2), np.eye(3)[[1, 2]])
    with pytest.raises(ValueError, match="n is 4"):
        strongest_atoms(np.eye(3), Y, 4)


def test_karhunen_loeve_finds_the_axes_of_known_frames(rng):
    axes = random_orthogonal(6, rng)
    strengths = np.array([5.0, 4.0, 3.0, 2.0, 1.0, 0.5])
    Y = axes.T @ np.diag(strengths) @ np.linalg.qr(rng.standard_normal((50, 6)))[0].T
    found = karhunen_loeve(Y)
    assert np.allclose(np.abs(found @ axes.T), np.eye(6), atol=1e-10)
    assert np.allclose(atom_energies(found, Y), strengths**2)


def test_no_transform_has_more_energy_in_n_atoms_than_karhunen_loeve(rng):
    Y = rng.standard_normal((2, 8, 30)) * np.linspace(1, 3, 8)[:, None]
    bound = energy_curve(karhunen_loeve(Y), Y)
    for _ in range(20):
        assert np.all(energy_curve(random_orthogonal(8, rng), Y) <= bound + 1e-12)
    assert karhunen_loeve(Y.astype(np.float32)).dtype == np.float32
