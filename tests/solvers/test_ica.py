"""Relation (14) to ICA: with a fixed density in place of a divergence, the solver is Picard-O."""

import numpy as np
import pytest
from picard import picard
from problems import LogCosh

import phinmf
from phinmf.solvers import LBFGS

pytestmark = pytest.mark.full


def test_the_same_rotation_as_picard(rng):
    S = rng.laplace(size=(6, 5000))
    X = rng.standard_normal((6, 6)) @ S
    X -= X.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(X @ X.T / X.shape[1])
    white = (vectors / np.sqrt(values)).T @ X
    _, theirs, _ = picard(white, ortho=True, extended=False, whiten=False, centering=False,
                          w_init=np.eye(6), tol=1e-10, max_iter=500)  # fmt: skip
    ours = phinmf.learn_transform(
        white, np.ones_like(white), solver=LBFGS(), divergence=LogCosh(), init=np.eye(6),
        method=phinmf.Method(anneal=False, n_iter_transform=5), tol=1e-8, max_iter=100,
    ).Phi  # fmt: skip
    match = np.abs(ours @ theirs.T)
    assert np.allclose(np.sort(match, axis=1)[:, -1], 1, atol=1e-5)
    assert sorted(match.argmax(axis=1)) == list(range(6))
