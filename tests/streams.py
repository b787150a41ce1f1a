"""Frames with known components, and models that learn from them block by block."""

import numpy as np

from phinmf import TLNMF, Anneal, Method
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


#: options of fits that take little time
SHORT = {"random_state": 0, "max_iter": 12, "tol": 0, "method": Method(anneal=Anneal(length=8))}


def model(**how):
    """An estimator of two components that is fitted quickly."""
    return TLNMF(2, **{**SHORT, **how})


def learned(blocks, **how):
    """A model that has learned from blocks (M, n)."""
    found = model(**how)
    for Y in blocks:
        found.partial_fit(Y.T)
    return found


def same(a, b):
    """Two models have the same bits."""
    assert np.array_equal(a.transform_matrix_, b.transform_matrix_)
    assert np.array_equal(a.components_, b.components_)
    for name in ("scale_", "floor_", "objective_", "n_steps_", "n_frames_seen_"):
        assert getattr(a, name) == getattr(b, name)
    rows = [row._replace(seconds=0.0, gradient=0.0) for row in a.history_]
    assert rows == [row._replace(seconds=0.0, gradient=0.0) for row in b.history_]
