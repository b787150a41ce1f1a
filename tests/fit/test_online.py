"""Learning block by block: one pass, whatever the blocks, in constant memory."""

import gc
import itertools
import tracemalloc

import numpy as np
import pytest
from streams import BLOCK, M, cut, frames, learned, model, same

from phinmf import TLNMF, Beta, Method, tl_nmf
from phinmf.analysis import held_out
from phinmf.linalg.manifold import dct, random_orthogonal


def cost(found, Y):
    return held_out(found, Y).objective


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_result_does_not_depend_on_how_frames_are_cut(dtype):
    Y = frames(N=10 * BLOCK + 5, dtype=dtype)
    whole = learned([Y])
    same(whole, learned(cut(Y, 7)))
    memory = np.empty((M, 31), dtype)

    def same_memory():
        for block in cut(Y, 31):
            memory[:, : block.shape[1]] = block
            yield memory[:, : block.shape[1]]

    same(whole, learned(same_memory()))
    assert whole.transform_matrix_.dtype == whole.components_.dtype == dtype
    assert whole.objective_ == pytest.approx(whole.history_.objective.sum())


def test_one_pass_keeps_most_of_what_a_fit_to_all_frames_gains():
    """On frames of a hidden transform, of a seed by which nothing was chosen."""
    seed, M, K, N = 22, 32, 4, 6000
    rng = np.random.default_rng(seed)
    W, H = rng.exponential(size=(M, K)) ** 3, rng.exponential(size=(K, N)) ** 2
    X = rng.standard_normal((M, N)) * np.sqrt(W @ H / (W @ H).mean() + 1e-3)
    frames, unseen = np.split(X.T @ random_orthogonal(M, rng), [4800])
    fixed = TLNMF(K, random_state=seed, solver=None).fit(frames).score(unseen)
    whole = TLNMF(K, random_state=seed).fit(frames).score(unseen)
    found = TLNMF(K, random_state=seed)
    for block in np.split(frames, 48):
        found.partial_fit(block)
    assert whole > fixed + 0.2
    assert found.score(unseen) - fixed >= 0.7 * (whole - fixed)


def test_changed_frames_are_followed_and_the_more_so_the_more_is_forgotten():
    A, B = frames(N=20 * BLOCK, seed=3), frames(N=22 * BLOCK, seed=4)
    B, unseen = np.split(B, [20 * BLOCK], axis=1)
    costs = [cost(learned([A, B], forget_factor=f), unseen) for f in (0.7, 1.0)]
    only, before = cost(learned([B]), unseen), cost(learned([A]), unseen)
    assert costs[0] < only + 0.15 * (before - only)
    assert costs[0] < costs[1] < before


@pytest.mark.full
def test_nothing_grows_with_the_number_of_frames(monkeypatch):
    monkeypatch.setattr("phinmf.fit.online.HISTORY", 5)
    Y, sizes = frames(N=5 * BLOCK), []
    found = model(forget_factor=1.0, solver=None, max_iter=3)
    tracemalloc.start()
    try:
        for number in range(160):
            found.partial_fit(Y.T[(40 * number) % len(Y.T) :][:BLOCK])
            if number % 20 == 19:
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert len(found.history_) == 5
    assert max(sizes[2:]) - sizes[1] < 10 * BLOCK * M * Y.itemsize  # of 120 blocks


def test_silence_does_no_harm():
    Y = frames(N=6 * BLOCK)
    silence = np.zeros((M, 100))
    quiet = learned(itertools.chain([silence], cut(Y), [silence]))
    assert np.isfinite(quiet.objective_)
    assert quiet.scale_ == pytest.approx(np.sqrt(np.mean(Y**2)), rel=0.2)
    soft = 1e-6 * np.random.default_rng(0).standard_normal((M, 4 * BLOCK))
    after = learned([soft, Y])  # a beginning without music
    assert cost(after, Y) < 1.5 * cost(learned([Y]), Y)


def test_the_scale_is_that_of_all_frames_and_fades_by_the_forget_factor():
    Y = frames(N=5 * BLOCK) * np.repeat([1.0, 3.0, 0.5, 10.0, 2.0], BLOCK)
    powers = [np.mean(block**2) for block in cut(Y, BLOCK)]
    faded = 0.5 ** np.arange(4, -1, -1)
    found = learned([Y], forget_factor=0.5)
    assert found.scale_ == pytest.approx(np.sqrt(faded @ powers / faded.sum()), rel=1e-12)
    assert found.floor_ == pytest.approx(1e-8 * found.scale_**2)
    everything = learned([Y], forget_factor=1.0)
    assert everything.scale_ == pytest.approx(np.sqrt(np.mean(Y**2)), rel=1e-12)
    louder = learned([1024 * Y], forget_factor=1.0)
    assert np.array_equal(louder.components_, everything.components_)


@pytest.mark.parametrize(
    "how",
    [
        {"solver": None},
        {"fixed": "Phi", "init": dct(M)},
        {"divergence": "gaussian"},
        {"divergence": Beta(1.7), "sparsity": 0.5},  # on the readable engine
        {"init": "random", "solver": "quasi-newton", "max_iter": 3},
        {"forget_factor": 1.0, "block_size": 30},
        {"sparsity": 0.0, "method": Method(anneal=False)},
        {"n_components": "auto"},
    ],
    ids=str,
)
def test_what_else_can_be_asked_for(how):
    found = model().set_params(**how).partial_fit(frames(N=5 * BLOCK).T)
    Phi, W = found.transform_matrix_, found.components_.T
    np.testing.assert_allclose(Phi @ Phi.T, np.eye(M), atol=1e-12)
    np.testing.assert_allclose(W.sum(axis=0), 1)
    assert (W >= 0).all()
    if how.get("solver", 0) is None or "fixed" in how:
        np.testing.assert_allclose(Phi, dct(M), atol=1e-14)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"n_atoms": 4}, "n_atoms is 4, .* all frames at once"),
        ({"smoothness": 1.0}, "smoothness is 1, .* all frames at once"),
        ({"floor": 0.0}, "floor is 0, .* all frames at once"),
        ({"engine": "dask"}, "engine is 'dask', .* all frames at once"),
        ({"fixed": "H"}, "fixed asks for H to stay"),
        ({"forget_factor": 0.0}, "forget_factor is 0.0, but a finite number > 0 and ≤ 1 is"),
        ({"block_size": 0}, "block_size is 0, but a whole number ≥ 1 is needed"),
        ({"components": np.ones((2, 3))}, r"components has shape \(2, 3\)"),
        ({"init": np.eye(5)}, r"init has shape \(5, 5\)"),
    ],
)
def test_what_needs_all_frames_at_once_is_refused(how, message):
    with pytest.raises(ValueError, match=message):
        learned([frames(N=3 * BLOCK)], **how)


def test_blocks_one_by_one_are_not_frames():
    for wrong in (iter([np.ones((M, 5))]), (Y for Y in [np.ones((M, 5))])):
        with pytest.raises(TypeError, match=r"TLNMF\.partial_fit"):
            tl_nmf(wrong, 2)
        with pytest.raises(TypeError, match="partial_fit"):
            model().fit(wrong)
