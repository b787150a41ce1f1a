"""Reliability of atoms over runs, on constructed runs."""

import numpy as np
import pytest

from phinmf.analysis import stability
from phinmf.linalg.manifold import random_orthogonal


def runs_that_share(rng, shared, n=10, M=60, R=6, noise=0.0):
    """R sets of n atoms; the first `shared` of them are the same, shuffled and with signs."""
    common = random_orthogonal(M, rng)[:shared]
    runs = []
    for _ in range(R):
        own = rng.standard_normal((n - shared, M))
        atoms = np.concatenate([common + noise * rng.standard_normal(common.shape), own])
        atoms *= rng.choice([-1.0, 1.0], (n, 1))
        runs.append(atoms[rng.permutation(n)])
    return runs, common


def test_shared_atoms_are_reliable_and_the_others_are_not(rng):
    runs, common = runs_that_share(rng, shared=4)
    found = stability(runs)
    assert np.allclose(found.reliability[:4], 1)
    assert found.reliability[4:].max() < 0.7
    assert np.allclose(np.abs(common @ found.atoms[:4].T).max(axis=1), 1)
    assert found.index[:4].min() > 0.8
    assert np.all(np.diff(found.reliability) <= 0)


def test_labels_point_at_the_atoms(rng):
    runs, _ = runs_that_share(rng, shared=4, noise=0.01)
    found = stability(runs)
    for run, labels in zip(runs, found.labels, strict=True):
        for c in range(4):
            (row,) = np.flatnonzero(labels == c)
            cos = abs(run[row] @ found.atoms[c]) / np.linalg.norm(run[row])
            assert cos > 0.98


def test_an_atom_is_as_reliable_as_the_share_of_other_runs_that_have_it(rng):
    basis = random_orthogonal(40, rng)
    runs = [basis[[0, 1, 2]], basis[[0, 1, 3]], basis[[0, 2, 1]], basis[[0, 1, 4]]]
    found = stability(runs)
    assert found.reliability.tolist() == pytest.approx([1.0, 1.0, 1 / 3, 0.0, 0.0])
    assert abs(found.atoms[2] @ basis[2]) == pytest.approx(1)


def test_noise_lowers_the_reliability_by_its_cosine(rng):
    noise = 0.05
    runs, _ = runs_that_share(rng, shared=10, M=60, R=8, noise=noise)
    expected = 1 / (1 + 60 * noise**2)  # cosine of two noisy copies
    assert stability(runs).reliability.mean() == pytest.approx(expected, abs=0.03)


def test_errors_say_what_is_needed():
    for runs in ([np.eye(3)], [np.eye(3), np.eye(3)[:2]]):
        with pytest.raises(ValueError, match="at least two of the same shape"):
            stability(runs)
