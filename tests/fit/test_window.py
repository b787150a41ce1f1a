"""A sample of frames of constant size: random, the same every time, and fading."""

import numpy as np

from phinmf.fit.blocks import Block, Window

MOST = 50


def filled(forget_factor, seed, n_blocks=40, n=10):
    """Return a window after so many blocks; a frame holds its own number."""
    window = None
    for step in range(1, n_blocks + 1):
        numbers = np.arange((step - 1) * n, step * n, dtype=float)
        block = Block(numbers[None, None], None, 1.0)
        new = Window.of(block, step, step, forget_factor, seed)
        window = new if window is None else window.plus(new, MOST)
        assert window.n_frames == min(step * n, MOST)
        assert (np.diff(window.Y[0, 0]) > 0).all()
    return window


def test_all_frames_are_kept_equally_often_if_nothing_is_forgotten():
    counts = np.zeros(400)
    for seed in range(200):
        counts[filled(1.0, seed).Y[0, 0].astype(int)] += 1
    thirds = counts.reshape(4, 100).sum(axis=1) / counts.sum()
    np.testing.assert_allclose(thirds, 0.25, atol=0.02)


def test_frames_fade_by_the_forget_factor():
    counts = np.zeros(40)
    for seed in range(200):
        np.add.at(counts, filled(0.9, seed).births - 1, 1)
    expected = 0.9 ** np.arange(39, -1, -1)
    old = slice(0, 25)  # of which hardly any block is kept as a whole
    ratio = counts[old].sum() / counts[25:].sum()
    assert abs(ratio - expected[old].sum() / expected[25:].sum()) < 0.05
    assert (counts[-5:] > 3 * counts[5:10]).all()


def test_the_sample_is_the_same_every_time_and_says_what_is_new():
    a, b = filled(0.95, 3), filled(0.95, 3)
    np.testing.assert_array_equal(a.Y, b.Y)
    assert a.share_since(0) == 1
    assert a.share_since(40) == 0
    assert 0 < a.share_since(30) < 1
