"""Energies, frequencies and matching of atoms, on cases whose answer is known."""

import numpy as np
import pytest

from phinmf.analysis import (
    atom_energies,
    atom_frequencies,
    atoms_for_energy,
    energy_curve,
    karhunen_loeve,
    match_atoms,
    strongest_atoms,
)
from phinmf.linalg.manifold import dct, random_orthogonal


def test_energies_of_a_known_case(rng):
    Y = np.diag([3.0, 2.0, 1.0, 0.0])[:, [3, 0, 1, 2]]
    assert np.array_equal(atom_energies(np.eye(4), Y), [9, 4, 1, 0])
    assert np.allclose(energy_curve(np.eye(4), Y), [9 / 14, 13 / 14, 1, 1])
    assert list(atoms_for_energy(np.eye(4), Y, [0.5, 0.9, 0.95, 1.0])) == [1, 2, 3, 3]
    assert np.array_equal(strongest_atoms(np.eye(4), Y[::-1], 2), np.eye(4)[[3, 2]])
    Y = rng.standard_normal((2, 5, 9))
    expected = (atom_energies(np.eye(5), Y[0]) + atom_energies(np.eye(5), Y[1])) / 2
    assert np.allclose(atom_energies(np.eye(5), Y), expected)


def test_no_transform_has_more_energy_in_n_atoms_than_karhunen_loeve(rng):
    Y = rng.standard_normal((2, 8, 30)) * np.linspace(1, 3, 8)[:, None]
    bound = energy_curve(karhunen_loeve(Y), Y)
    for _ in range(20):
        assert np.all(energy_curve(random_orthogonal(8, rng), Y) <= bound + 1e-12)
    assert karhunen_loeve(Y.astype(np.float32)).dtype == np.float32


def tone(frequency, M=200, rate=5000, phase=0.3):
    n = np.arange(M)
    return np.sin(np.pi * (n + 0.5) / M) ** 2 * np.cos(2 * np.pi * frequency * n / rate + phase)


def test_peaks_are_precise_to_a_tenth_of_a_hertz():
    known = [220.0, 440.0, 466.16, 880.37, 932.33, 2001.9]
    computed = atom_frequencies([tone(f) for f in known], 5000)
    assert np.abs(computed.peak - known).max() < 0.1
    assert np.abs(computed.centroid - known).max() < 0.5


def test_a_chord_has_its_centroid_between_its_notes_and_its_peak_at_the_louder():
    computed = atom_frequencies([2 * tone(500) + tone(1500, phase=1.0)], 5000)
    assert computed.peak[0] == pytest.approx(500, abs=0.5)
    assert computed.centroid[0] == pytest.approx((4 * 500 + 1500) / 5, abs=2)


def test_peaks_at_zero_and_at_half_the_sampling_rate():
    computed = atom_frequencies([np.ones(64), np.resize([1.0, -1.0], 64)], 8000)
    assert np.allclose(computed.peak, [0, 4000])
    assert np.all(np.diff(atom_frequencies(dct(64), 8000).peak) > 0)


def test_matching_undoes_permutations_signs_and_lengths(rng):
    A = random_orthogonal(8, rng)
    order = rng.permutation(8)
    match = match_atoms(A, -3 * A[order])
    assert np.array_equal(order[match.second], match.first)
    assert np.allclose(match.similarity, 1)
    match = match_atoms(np.eye(5), np.eye(5)[[3, 1]])
    assert {*zip(match.first.tolist(), match.second.tolist(), strict=True)} == {(3, 0), (1, 1)}


def test_matching_maximises_the_sum_where_a_greedy_choice_does_not():
    a, b = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    A = [a, a + 0.9 * b]
    B = [a + 0.1 * b, a - 0.6 * b]
    cos = lambda x, y: abs(x @ y) / np.linalg.norm(x) / np.linalg.norm(y)  # noqa: E731
    straight = cos(A[0], B[0]) + cos(A[1], B[1])
    crossed = cos(A[0], B[1]) + cos(A[1], B[0])
    assert match_atoms(A, B).similarity.sum() == pytest.approx(max(straight, crossed))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: match_atoms(np.eye(3), np.eye(4)), "atoms of 3 samples"),
        (lambda: match_atoms(np.zeros((2, 3)), np.eye(3)), "row of zeros"),
        (lambda: atom_frequencies(np.eye(3), 0), "sample_rate is 0"),
        (lambda: strongest_atoms(np.eye(3), np.eye(3), 4), "n is 4"),
    ],
)
def test_errors_say_what_is_needed(call, said):
    with pytest.raises(ValueError, match=said):
        call()
