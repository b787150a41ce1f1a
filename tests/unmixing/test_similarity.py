"""How alike components are, and the groups that follow from it."""

import numpy as np
import pytest

from phinmf.unmixing.similarity import divide, similarity, spectra_of

RATE, F, N = 16_000, 321, 500  # frames of 640 samples, 10 s


def envelope(rng, every, decay=8.0):
    """Activations that start again every few frames and decay."""
    hits = np.zeros(N)
    hits[rng.integers(0, 5) :: every] = rng.uniform(0.5, 1.5)
    return np.convolve(hits, np.exp(-np.arange(60) / decay))[:N] + 1e-3


def hump(centre, width=12.0):
    """A power spectrum around one frequency."""
    return np.exp(-(((np.arange(F) - centre) / width) ** 2)) + 1e-6


def panned(left, right):
    """Inner products of two channels that carry the same signal at two levels."""
    return np.outer([left, right], [left, right])


@pytest.fixture
def sources(rng):
    """Two instruments with three components each: H, spectra, channels, and which is which."""
    H = np.stack([envelope(rng, every) for every in (25, 25, 25, 70, 70, 70)])
    spectra = np.stack([hump(c) for c in (20, 24, 28, 180, 190, 200)])
    channels = np.stack([panned(1, 0.9)] * 6)
    return H, spectra, channels, np.array([0, 0, 0, 1, 1, 1])


def same(labels, truth):
    """Whether two divisions are the same but for the numbers of the groups."""
    return np.array_equal(labels[:, None] == labels, truth[:, None] == truth)


def test_two_instruments_are_told_apart(sources):
    *values, truth = sources
    S = similarity(*values, RATE)
    np.testing.assert_allclose(S, S.T, rtol=0, atol=1e-15)
    assert 0 < S.min() < S.max() <= 1
    assert (np.diag(S) == 1).all()
    assert S[:3, :3].min() > S[:3, 3:].max()
    assert same(divide(S, 2), truth)


def test_levels_order_and_swapped_channels_do_not_matter(sources, rng):
    H, spectra, channels, _ = sources
    channels = channels * np.array([1, 2, 3, 4, 5, 6])[:, None, None]
    channels[2] = panned(0.2, 1)
    S, order = similarity(H, spectra, channels, RATE), rng.permutation(len(H))
    gains = rng.uniform(1e-6, 1e6, (3, len(H)))
    louder = similarity(
        gains[0, :, None] * H, gains[1, :, None] * spectra, gains[2, :, None, None] * channels, RATE
    )
    np.testing.assert_allclose(louder, S, atol=1e-9)
    again = similarity(H[order], spectra[order], channels[order], RATE)
    np.testing.assert_allclose(again, S[np.ix_(order, order)], atol=1e-12)
    mirrored = similarity(H, spectra, channels[:, ::-1, ::-1], RATE)
    np.testing.assert_allclose(mirrored, S, atol=1e-12)
    shares = rng.uniform(size=6)
    labels = divide(S[np.ix_(order, order)], 3, shares[order])
    assert same(labels, divide(S, 3, shares)[order])


def test_places_far_apart_separate_what_is_otherwise_the_same(rng):
    """Four equal spectra with the same rhythm: only the place tells them apart."""
    H = np.stack([envelope(rng, 25)] * 4) * rng.uniform(0.9, 1.1, (4, N))
    spectra = np.stack([hump(50)] * 4)
    left, right = panned(1, 0.05), panned(0.05, 1)
    S = similarity(H, spectra, np.stack([left, right, left, right]), RATE)
    assert same(divide(S, 2), np.array([0, 1, 0, 1]))
    assert S[0, 1] < 0.75 < S[0, 2]


def test_silent_components_are_like_no_other(sources):
    H, spectra, channels, truth = sources
    silent = np.concatenate([H, np.zeros((2, N))])
    spectra = np.concatenate([spectra, np.zeros((2, F))])
    channels = np.concatenate([channels, np.zeros((2, 2, 2))])
    S = similarity(silent, spectra, channels, RATE)
    assert (S[6:, :6] == 0).all()
    assert S[6, 7] == 0
    assert (np.diag(S) == 1).all()
    np.testing.assert_array_equal(S[:6, :6], similarity(H, spectra[:6], channels[:6], RATE))
    shares = np.array([*[1 / 6] * 6, 0, 0])
    labels = divide(S, 2, shares)
    assert same(labels[:6], truth), "silence does not take a group away from what is heard"


@pytest.mark.parametrize(("n_frames", "K"), [(1, 1), (1, 5), (2, 2), (10, 1)])
def test_short_recordings_and_few_components(rng, n_frames, K):
    S = similarity(
        rng.uniform(size=(K, n_frames)), rng.uniform(size=(K, F)),
        np.stack([panned(*rng.uniform(size=2)) for _ in range(K)]), RATE,
    )  # fmt: skip
    assert S.shape == (K, K)
    assert np.isfinite(S).all()
    assert (np.diag(S) == 1).all()


def test_the_spectrum_is_that_of_the_atoms():
    import phinmf
    from phinmf.audio.example import example

    sound = example()
    found = phinmf.unmix(sound.mixture[:16_000], sound.sample_rate, 3, max_time=1, seed=0)
    spectra = spectra_of(found.model)
    assert spectra.shape == (3, found.model.M // 2 + 1)
    # by Parseval, with the frequencies between 0 and the highest counted twice
    both = spectra.sum(axis=1) * 2 - spectra[:, 0] - spectra[:, -1]
    np.testing.assert_allclose(both / found.model.M, found.W.sum(axis=0), rtol=1e-9)


def test_a_weak_outlier_does_not_become_a_group():
    """Average linkage makes 15 + 1; moves decide against it."""
    S = np.full((16, 16), 0.4)
    S[:8, :8] = S[8:15, 8:15] = 0.6
    S[15], S[:, 15] = 0.1, 0.1
    np.fill_diagonal(S, 1)
    shares = np.array([*[1 / 15] * 15, 1e-4])
    sizes = sorted(np.bincount(divide(S, 2, shares)))
    assert sizes in ([7, 9], [8, 8])


def test_no_single_component_would_be_better_in_another_group(rng):
    """The sum over groups of (w' S w)^0.4, computed anew for each move."""
    K, n = 12, 4
    X = rng.uniform(size=(K, 3))
    S = X @ X.T / np.linalg.norm(X, axis=1) / np.linalg.norm(X, axis=1)[:, None]
    shares = rng.dirichlet(np.full(K, 0.5))

    def total(labels):
        w = np.sqrt(shares) * (labels == np.arange(n)[:, None])
        return (np.einsum("gk,kl,gl->g", w, S, w) ** 0.4).sum()

    labels = divide(S, n, shares)
    for k in range(K):
        for group in range(n):
            moved = labels.copy()
            moved[k] = group
            if len(set(moved)) == n:
                assert total(moved) <= total(labels) + 1e-8


@pytest.mark.parametrize("K", [1, 2, 7, 24])
def test_every_number_of_groups_is_reached(rng, K):
    """Also where all components are the same, or none is like another."""
    H = rng.uniform(size=(K, 3))
    for S in (np.ones((K, K)), np.eye(K), H @ H.T / 3, -np.ones((K, K))):
        for n in range(1, K + 1):
            for shares in (None, rng.uniform(size=K), np.zeros(K)):
                labels = divide(S, n, shares)
                assert sorted(set(labels)) == list(range(n))
