"""Frames that count more, less or not at all, and factors that stay as given."""

import numpy as np
import pytest
from problems import notes

from phinmf import TLNMF, Anneal, Method, tl_nmf

HOW = {"max_iter": 12, "tol": 0, "random_state": 3}
SAMPLED = Anneal(length=8, sample=2)


@pytest.mark.parametrize("anneal", [None, False, SAMPLED])
@pytest.mark.parametrize("C", [1, 2])
def test_weight_two_is_the_frame_twice(anneal, C):
    """Also while a sample of the frames is drawn: a frame of weight 2 is in the hat twice."""
    Y = np.stack([notes(M=8, n=800, seed=s) for s in range(C)])
    counts = np.random.default_rng(0).integers(0, 3, Y.shape[2])
    weighted = tl_nmf(Y, 2, sample_weight=counts, method=Method(anneal=anneal), **HOW)
    repeated = tl_nmf(np.repeat(Y, counts, axis=2), 2, method=Method(anneal=anneal), **HOW)
    assert weighted.scale == pytest.approx(repeated.scale, rel=1e-14)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-8)
    assert np.allclose(weighted.Phi, repeated.Phi, atol=1e-8)
    assert np.allclose(weighted.W, repeated.W, atol=1e-8)
    H = np.repeat(weighted.H, counts, axis=1)
    assert np.allclose(H, repeated.H, atol=1e-8 * H.max())
    if anneal is SAMPLED:
        assert weighted.history.frames[0] < Y.shape[2] / 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_frame_of_weight_zero_changes_nothing_and_still_gets_activations(dtype):
    Y = notes().astype(dtype)
    mask = np.zeros(Y.shape[1], bool)
    mask[[0, 5, 6, 40]] = True
    loud = Y.copy()
    loud[:, mask] = 100
    kept = tl_nmf(Y[:, ~mask], 3, **HOW)
    for frames in (Y, loud):
        r = tl_nmf(frames, 3, sample_weight=~mask, **HOW)
        assert np.array_equal(r.Phi, kept.Phi)
        assert np.array_equal(r.W, kept.W)
        assert np.array_equal(r.H[:, ~mask], kept.H)
        assert (r.H[:, mask].sum(axis=0) > 0).all()
    model = TLNMF(3, **HOW).fit(loud.T, sample_weight=~mask)
    assert np.array_equal(model.components_, kept.W.T)
    assert model.objective_ == pytest.approx(kept.objective, rel=0.05)


@pytest.mark.parametrize("solver", ["lbfgs", "quasi-newton", None])
@pytest.mark.parametrize("anneal", [True, False, SAMPLED])
def test_fixed_things_stay(solver, anneal):
    Y = 10 * notes(n=3000)
    how = {"solver": solver, "method": Method(anneal=anneal), **HOW}
    trained = tl_nmf(Y, 3, **how)
    W = 5 * trained.W[:, :2]
    part = tl_nmf(Y, 4, W=W, fixed="W", init=trained.Phi, **how)
    assert np.array_equal(part.W[:, :2], W)
    assert np.allclose(part.W[:, 2:].sum(axis=0), 1)
    one = tl_nmf(Y, 4, W=W, fixed={"W": [1]}, **how)
    assert np.array_equal(one.W[:, 1], W[:, 1])
    assert not np.allclose(one.W[:, 0], W[:, 0] / 5)

    H = trained.H * np.array([[1.0], [2.0], [3.0]])
    by_H = tl_nmf(Y, 3, H=H, fixed=["H"], **how)
    assert np.allclose(by_H.H, H, rtol=1e-12)
    assert by_H.objective < 1.2 * trained.objective

    everything = tl_nmf(Y, 3, W=trained.W, H=H, init="random", fixed=("W", "H"), **how)
    assert np.array_equal(everything.W, trained.W)
    still = tl_nmf(Y, 3, init=trained.Phi, fixed="Phi", **how)
    assert np.allclose(still.Phi, trained.Phi, atol=1e-12)


def test_activations_that_would_vanish_beside_huge_columns_are_refused():
    with pytest.raises(ValueError, match="the factors leave the range"):
        tl_nmf(1e-110 * notes(), 2, W=np.full((32, 1), 1e290), fixed={"W": [0]}, **HOW)
