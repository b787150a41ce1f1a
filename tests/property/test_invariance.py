"""What must not matter: the level of the recording, the order and the signs of atoms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import notes, seeds

import phinmf


def fit(Y, **how):
    settings = {"n_components": 3, "random_state": 0, "max_iter": 3, "tol": 0, "sparsity": 5.0}
    return phinmf.tl_nmf(Y, **{**settings, **how})


@settings(max_examples=10)
@given(seed=seeds, solver=st.sampled_from(["quasi-newton", "projected-gradient", None]))
def test_order_and_signs_of_atoms_do_not_matter(seed, solver):
    rng = np.random.default_rng(seed)
    Y = notes(M=12, n=400)
    M = len(Y)
    Phi, W = phinmf.linalg.manifold.random_orthogonal(M, rng), rng.random((M, 2))
    order, signs = rng.permutation(M), rng.choice([-1, 1], M)
    how = {"n_components": 2, "solver": solver, "max_iter": 1, "floor": 1e-2}
    one = fit(Y, init=Phi, W=W, **how)
    other = fit(Y, init=(signs[:, None] * Phi)[order], W=W[order], **how)
    assert np.allclose(other.Phi, (signs[:, None] * one.Phi)[order], atol=1e-8)
    assert np.allclose(other.W, one.W[order], atol=1e-8)
    assert other.objective == pytest.approx(one.objective, rel=1e-9)


@settings(max_examples=10)
@given(seed=seeds)
def test_order_of_frames_does_not_matter(seed):
    Y = notes(M=12, n=400)
    order = np.random.default_rng(seed).permutation(Y.shape[1])
    how = {"solver": "quasi-newton", "max_iter": 1}
    one, other = fit(Y, **how), fit(Y[:, order], **how)
    assert np.allclose(one.Phi, other.Phi, atol=1e-8)
    assert np.allclose(one.H[:, order], other.H, rtol=1e-7, atol=1e-9)


def test_equal_channels_are_one_channel():
    Y = notes()
    one, twice = (fit(frames, solver="quasi-newton") for frames in (Y, np.stack([Y, Y])))
    assert np.allclose(one.Phi, twice.Phi, atol=1e-7)
    assert one.objective == pytest.approx(twice.objective, rel=1e-9)
