"""The average of transforms, and the fit that continues from it."""

import numpy as np
import pytest

import phinmf
from phinmf.analysis import average_transform, consensus, match_atoms, strongest_atoms
from phinmf.linalg.manifold import givens, random_orthogonal


def test_the_average_of_shuffled_copies_is_the_original(rng):
    Phi = random_orthogonal(12, rng)
    runs = []
    for angle in (-0.1, 0.0, 0.1):
        turned = givens(12, 3, 7, angle) @ Phi
        runs.append(rng.choice([-1.0, 1.0], (12, 1)) * turned[rng.permutation(12)])
    mean = average_transform(runs)
    assert np.allclose(np.sort(np.abs(mean @ Phi.T), axis=1)[:, -1], 1)
    assert np.allclose(mean @ mean.T, np.eye(12))


def steady_tones(rng, M=40, N=600):
    """Frames of three tones at random phases, one after the other, and a little noise."""
    t, window = np.arange(M), np.sin(np.pi * (np.arange(M) + 0.5) / M)
    frequency = np.repeat(rng.choice([0.4, 0.9, 1.7], N // 20), 20)
    phase = rng.uniform(0, 2 * np.pi, N)
    tones = window[:, None] * np.cos(frequency * t[:, None] + phase)
    return tones + 0.01 * rng.standard_normal((M, N))


def test_two_groups_of_starts_find_the_same_atoms_and_a_lower_objective(rng):
    Y = steady_tones(rng)
    how = {"sparsity": 150.0, "random_state": 0}
    fits = [phinmf.tl_nmf(Y, 3, init="random", **how | {"random_state": s}) for s in range(4)]
    groups = [consensus([f.Phi for f in fits[i : i + 2]], Y, 3, **how) for i in (0, 2)]
    single = match_atoms(*(strongest_atoms(f.Phi, Y, 6) for f in fits[1:3])).similarity
    agreed = match_atoms(*(strongest_atoms(r.Phi, Y, 6) for r in groups)).similarity
    assert (single > 0.9).sum() < 6
    assert (agreed > 0.9).all()
    assert max(r.objective for r in groups) < min(f.objective for f in fits)


def test_errors_say_what_is_needed():
    for transforms in ([], [np.eye(3), np.eye(4)], [np.ones((2, 3))]):
        with pytest.raises(ValueError, match="same shape"):
            average_transform(transforms)
