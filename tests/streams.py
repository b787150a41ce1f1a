"""Small streams of frames with known components."""

import numpy as np

from phinmf import Anneal, tl_nmf
from phinmf.linalg.manifold import random_orthogonal

M = 12  #: samples of a frame
BLOCK = 2 * M  #: the default number of frames of a step


def frames(N=20 * BLOCK, seed=0, K=2, dtype=np.float64):
    """Return frames (M, N) whose power has K components in an unknown transform."""
    rng = np.random.default_rng(seed)
    W, H = rng.exponential(size=(M, K)) ** 3, rng.exponential(size=(K, N)) ** 2
    X = rng.standard_normal((M, N)) * np.sqrt(W @ H + 1e-3)
    return (random_orthogonal(M, rng).T @ X).astype(dtype)


def cut(Y, size=17):
    """Yield frames in blocks of one size."""
    for a in range(0, Y.shape[-1], size):
        yield Y[..., a : a + size]


def cut_at_random(Y, seed=0):
    """Yield frames in blocks of any size, also without frames."""
    rng, a = np.random.default_rng(seed), 0
    while a < Y.shape[-1]:
        n = int(rng.integers(0, 60))
        yield Y[..., a : a + n]
        a += n


#: options of fits that take little time
SHORT = {"random_state": 0, "max_iter": 12, "tol": 0, "anneal": Anneal(length=8)}


def learned(stream, **how):
    """Learn two components from a stream."""
    return tl_nmf(stream, **{"n_components": 2, **SHORT, **how})


def same(a, b):
    """Two passes have the same bits."""
    assert np.array_equal(a.Phi, b.Phi)
    assert np.array_equal(a.W, b.W)
    assert (a.objective, a.scale, a.floor) == (b.objective, b.scale, b.floor)
    kept = [row._replace(seconds=0.0, gradient=0.0) for row in a.history]
    assert kept == [row._replace(seconds=0.0, gradient=0.0) for row in b.history]
