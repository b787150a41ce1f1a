"""With a fixed transform, a β-divergence is the NMF that scikit-learn computes."""

import warnings

import numpy as np
import pytest
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from phinmf import Beta, Method, tl_nmf

ITERATIONS = 40


def start(seed):
    """A power spectrogram without zeros, and factors of it."""
    rng = np.random.default_rng(seed)
    W, H = rng.gamma(0.5, size=(24, 4)), rng.gamma(0.5, size=(4, 60))
    V = (W @ H + 1e-3) * rng.exponential(size=(24, 60)) + 1e-6
    return V, rng.random((24, 4)) + 0.1, rng.random((4, 60)) + 0.1


def theirs(V, W, H, beta):
    """The product after some iterations; rows of theirs are our frames, which they update first."""
    nmf = NMF(4, init="custom", solver="mu", beta_loss=beta, tol=0, max_iter=ITERATIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        activations = nmf.fit_transform(V.T.copy(), W=H.T.copy(), H=W.T.copy())
    return (activations @ nmf.components_).T


def ours(V, W, H, beta, exponent, engine):
    how = {"solver": None, "init": np.eye(len(V)), "sparsity": 0, "floor": 0, "tol": 0}
    r = tl_nmf(
        np.sqrt(V), 4, W=W, H=H, divergence=Beta(beta), engine=engine, max_iter=ITERATIONS,
        method=Method(anneal=False, n_iter_nmf=1, nmf_exponent=exponent), **how,
    )  # fmt: skip
    assert r.n_iter == ITERATIONS
    return r.W @ r.H


@pytest.mark.parametrize("engine", ["array", "compiled"])
@pytest.mark.parametrize("beta", [2, 1, 0.5, 0])
@pytest.mark.parametrize("seed", range(3))
def test_the_objective_is_no_worse(seed, beta, engine):
    V, W, H = start(seed)
    reached = [
        Beta(beta).value(V, model, 0.0).sum()
        for model in (ours(V, W, H, beta, 1.0, engine), theirs(V, W, H, beta))
    ]
    assert reached[0] <= reached[1] * (1 + 1e-9)


@pytest.mark.parametrize("engine", ["array", "compiled"])
@pytest.mark.parametrize("beta", [2, 1, 0.5, 0])
def test_the_same_updates_give_the_same_model(beta, engine):
    V, W, H = start(7)
    exponent = 1 / (2 - beta) if beta < 1 else 1.0
    ours_, theirs_ = ours(V, W, H, beta, exponent, engine), theirs(V, W, H, beta)
    np.testing.assert_allclose(ours_, theirs_, rtol=1e-6)
