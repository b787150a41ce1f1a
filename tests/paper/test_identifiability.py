"""What second moments can say about Φ (Zhang, Soubies and Févotte 2020).

Frames with covariance Φ̄ᵀ diag(v̄_n) Φ̄, v̄ = W̄H̄, realised exactly as M channels. Rows of Φ̄ that
share a profile in W̄ can be rotated into each other unseen: their span is all there is to find.
"""

import numpy as np
import pytest

import phinmf
from phinmf.linalg.manifold import random_orthogonal

M, N = 4, 40
PAIRS = [slice(0, 2), slice(2, 4)]  # rows of Φ̄ that share a profile


class Exact:
    """Channels whose mean outer product is the covariance of each frame."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.Phi = random_orthogonal(M, rng)
        profiles = 0.1 + rng.gamma(2.0, size=(2, 2))
        self.W = profiles[[0, 0, 1, 1]]
        self.H = 0.05 + rng.gamma(1.0, size=(2, N))
        channels = np.sqrt(M * self.W @ self.H)
        self.Y = channels[:, None, :] * self.Phi[:, :, None]

    def seen_through(self, Phi):
        """(ΦΦ̄ᵀ)^∘2 W̄: with H̄ it models the power that Φ gives exactly."""
        return np.square(Phi @ self.Phi.T) @ self.W

    def objective(self, Phi, divergence):
        """C at W and H that are exact for this Φ."""
        r = phinmf.tl_nmf(
            self.Y, 2, solver=None, init=Phi, W=self.seen_through(Phi), H=self.H, sparsity=0,
            floor=0, divergence=divergence, max_iter=0, tol=0,
        )  # fmt: skip
        return r.objective / (M * N)


def distance(A, B):
    """Sine of the largest principal angle between two row spaces."""
    return np.linalg.norm(A.T @ A - B.T @ B, 2)


@pytest.mark.full
@pytest.mark.parametrize("anneal", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_likelihood_finds_the_row_spaces(seed, anneal):
    truth = Exact(seed)
    r = phinmf.tl_nmf(
        truth.Y, 2, divergence="gaussian", init="random", sparsity=0, floor=1e-12,
        method=phinmf.Method(anneal=anneal), random_state=seed, max_iter=500, tol=0,
    )  # fmt: skip
    first = np.square(r.Phi @ truth.Phi[PAIRS[0]].T).sum(axis=1).argsort()[::-1]
    for rows, pair in zip((first[:2], first[2:]), PAIRS, strict=True):
        assert distance(r.Phi[rows], truth.Phi[pair]) < 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_itakura_saito_is_zero_for_every_transform(seed, rng):
    truth = Exact(seed)
    best = truth.objective(truth.Phi, "gaussian")
    for _ in range(5):
        Phi = random_orthogonal(M, rng)
        assert abs(truth.objective(Phi, "itakura-saito")) < 1e-12
        assert truth.objective(Phi, "gaussian") > best + 1e-3
