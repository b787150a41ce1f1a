import numpy as np

from phinmf.analysis import atom_energies, atoms_for_energy, energy_curve


def test_energies_of_a_known_case():
    Y = np.diag([3.0, 2.0, 1.0, 0.0])[:, [3, 0, 1, 2]]
    assert np.array_equal(atom_energies(np.eye(4), Y), [9, 4, 1, 0])
    assert np.allclose(energy_curve(np.eye(4), Y), [9 / 14, 13 / 14, 1, 1])
    assert list(atoms_for_energy(np.eye(4), Y, [0.5, 0.9, 0.95, 1.0])) == [1, 2, 3, 3]


def test_energies_are_those_of_a_mean_over_channels(rng):
    Y = rng.standard_normal((2, 5, 9))
    expected = (atom_energies(np.eye(5), Y[0]) + atom_energies(np.eye(5), Y[1])) / 2
    assert np.allclose(atom_energies(np.eye(5), Y), expected)
