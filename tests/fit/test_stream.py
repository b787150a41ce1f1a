"""`tl_nmf` on a stream: one pass, whatever the blocks, in constant memory."""

import gc
import itertools
import tracemalloc

import numpy as np
import pytest
from streams import BLOCK, M, cut, cut_at_random, frames, learned, same

from phinmf import Anneal, Beta, Status, tl_nmf
from phinmf.analysis import held_out
from phinmf.fit.online_options import online_fit
from phinmf.fit.options import fit_options
from phinmf.fit.stream import Learner
from phinmf.linalg.manifold import dct


def cost(result, Y):
    return held_out(result, Y).objective


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_result_does_not_depend_on_how_the_stream_is_cut(dtype):
    Y = frames(N=10 * BLOCK + 5, dtype=dtype)
    whole = learned(iter([Y]))
    same(whole, learned(cut(Y, 1)))
    same(whole, learned(cut_at_random(Y)))
    assert whole.Phi.dtype == whole.W.dtype == dtype
    assert whole.H is None
    assert whole.status is Status.STREAM_ENDED
    assert not whole.converged
    assert len(whole.history) == 10  # the first fit is on two blocks, the last block is short
    assert sum(whole.history.frames) == Y.shape[1]
    assert whole.objective == pytest.approx(whole.history.objective.sum())


@pytest.mark.parametrize("size", [7, BLOCK, 3 * BLOCK])
def test_a_stream_may_use_its_memory_again(size):
    Y = frames(N=9 * BLOCK)

    def same_memory():
        memory = np.empty((M, size))
        for block in cut(Y, size):
            memory[:, : block.shape[1]] = block
            yield memory[:, : block.shape[1]]

    same(learned(same_memory()), learned(cut(Y)))


def test_time_is_limited_in_silence_too():
    def endless(sound):
        yield sound
        while True:
            yield np.zeros((M, BLOCK))

    result = learned(endless(frames(N=30)), max_time=0.2)
    assert result.status is Status.MAX_TIME
    with pytest.raises(ValueError, match="all zero"):
        learned(endless(np.zeros((M, 5))), max_time=0.1)


def test_any_iterable_that_is_no_array_is_a_stream():
    Y = frames(N=3 * BLOCK)

    class Reopened:
        def __iter__(self):
            return cut(Y)

    same(learned(Reopened()), learned(cut(Y)))
    assert learned(list(Y)).H.shape == (2, Y.shape[1])  # a list is an array, as before


def test_a_stream_that_is_shorter_than_the_first_fit_is_fitted_as_an_array():
    Y = frames(N=BLOCK + 3)
    stream, array = learned(cut(Y)), learned(Y)
    assert np.array_equal(stream.Phi, array.Phi)
    np.testing.assert_allclose(stream.W, array.W, rtol=1e-12)
    assert stream.objective == array.objective


def test_one_pass_is_near_a_fit_that_has_all_frames():
    Y, unseen = np.split(frames(N=40 * BLOCK), [32 * BLOCK], axis=1)
    stream, batch = (tl_nmf(y, 2, random_state=0) for y in (cut(Y), Y))
    fixed = tl_nmf(Y, 2, random_state=0, solver=None)
    assert cost(stream, unseen) < 1.05 * cost(batch, unseen)
    assert cost(stream, unseen) < 0.9 * cost(fixed, unseen)


def test_changed_frames_are_followed_and_the_more_so_the_more_is_forgotten():
    A, B = frames(N=20 * BLOCK, seed=3), frames(N=22 * BLOCK, seed=4)
    B, unseen = np.split(B, [20 * BLOCK], axis=1)
    both = np.concatenate([A, B], axis=1)
    costs = [cost(learned(cut(both), forget_factor=f), unseen) for f in (0.7, 1.0)]
    only = cost(learned(cut(B)), unseen)
    before = cost(learned(cut(A)), unseen)
    assert costs[0] < only + 0.15 * (before - only)
    assert costs[0] < costs[1] < before


@pytest.mark.full
def test_nothing_grows_with_the_length_of_the_stream(monkeypatch):
    monkeypatch.setattr("phinmf.fit.stream.HISTORY", 5)
    Y, sizes = frames(N=5 * BLOCK), []

    def seen(state):
        if state.iteration % 20 == 0:
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
        return state.iteration >= 160

    tracemalloc.start()
    try:
        endless = (Y[:, a : a + 40] for a in itertools.cycle(range(0, Y.shape[1], 40)))
        how = {"forget_factor": 1.0, "solver": None, "max_iter": 3, "tol": 0}
        result = learned(endless, callback=seen, **how)
    finally:
        tracemalloc.stop()
    assert result.status is Status.CALLBACK
    assert len(result.history) == 5
    block = BLOCK * M * Y.itemsize
    assert max(sizes[2:]) - sizes[1] < 10 * block  # 120 of them were seen meanwhile


def test_silence_does_no_harm():
    Y = frames(N=6 * BLOCK)
    silence = np.zeros((M, 100))
    quiet = learned(itertools.chain([silence], cut(Y), [silence]))
    assert np.isfinite(quiet.objective)
    assert quiet.scale == pytest.approx(np.sqrt(np.mean(Y**2)), rel=0.2)
    assert sum(quiet.history.frames) == Y.shape[1]
    soft = 1e-6 * np.random.default_rng(0).standard_normal((M, 4 * BLOCK))
    after = learned(itertools.chain([soft], cut(Y)))  # a beginning without music
    assert cost(after, Y) < 1.5 * cost(learned(cut(Y)), Y)


def test_the_scale_is_that_of_all_frames_if_nothing_is_forgotten():
    Y = frames(N=6 * BLOCK)
    Y[:, : 3 * BLOCK] *= 100
    result = learned(cut(Y), forget_factor=1.0)
    assert result.scale == pytest.approx(np.sqrt(np.mean(Y**2)), rel=1e-12)
    assert result.floor == pytest.approx(1e-8 * result.scale**2)
    louder = learned(cut(1024 * Y), forget_factor=1.0)
    assert np.array_equal(louder.W, result.W)
    assert louder.scale == 1024 * result.scale


@pytest.mark.parametrize(
    "how",
    [
        {"solver": None},
        {"fixed": "Phi", "init": dct(M)},
        {"divergence": "gaussian"},
        {"divergence": Beta(1.7), "sparsity": 0.5},  # on the readable engine
        {"init": "random", "solver": "quasi-newton", "max_iter": 3},
        {"forget_factor": 1.0, "block_size": 30},
        {"sparsity": 0.0, "anneal": False},
        {"n_components": "auto"},
    ],
    ids=str,
)
def test_what_else_can_be_asked_for(how):
    result = learned(cut(frames(N=5 * BLOCK)), **how)
    np.testing.assert_allclose(result.Phi @ result.Phi.T, np.eye(M), atol=1e-12)
    np.testing.assert_allclose(result.W.sum(axis=0), 1)
    assert (result.W >= 0).all()
    if how.get("solver", 0) is None or "fixed" in how:
        np.testing.assert_allclose(result.Phi, dct(M), atol=1e-14)


def test_columns_of_W_stay_as_they_are_given_and_channels_share_everything():
    Y = np.stack([frames(N=4 * BLOCK), frames(N=4 * BLOCK, seed=5)])
    W = np.random.default_rng(0).exponential(size=(M, 2))
    result = learned(cut(Y), n_components=3, W=W, fixed={"W": [1]}, solver=None)
    assert np.array_equal(result.W[:, 1], W[:, 1])
    assert not np.allclose(result.W[:, 0], W[:, 0])
    np.testing.assert_allclose(result.W[:, [0, 2]].sum(axis=0), 1)


@pytest.mark.full
def test_tensors_and_devices():
    torch = pytest.importorskip("torch")
    Y = frames(N=4 * BLOCK)
    array = learned(cut(Y), solver=None)
    tensor = learned((torch.asarray(y) for y in cut(Y)), solver=None)
    assert isinstance(tensor.Phi, torch.Tensor)
    np.testing.assert_allclose(tensor.W.numpy(), array.W, rtol=1e-6, atol=1e-9)
    mixed = (torch.asarray(y) if i % 2 else y for i, y in enumerate(cut(Y)))
    same(learned(mixed, solver=None), array)
    moved = learned(cut(Y), device="cpu", solver=None)
    assert isinstance(moved.W, np.ndarray)


def test_callbacks_and_time(capsys):
    Y, seen = frames(N=8 * BLOCK), []
    result = learned(cut(Y), callback=lambda s: seen.append(s) or s.iteration == 4, verbose=True)
    assert result.status is Status.CALLBACK
    assert [s.iteration for s in seen] == [2, 3, 4]
    assert seen[-1].W.shape == (M, 2)
    assert "tl_nmf: step 4, 96 frames, objective per entry" in capsys.readouterr().err
    assert learned(cut(Y), max_time=0).status is Status.MAX_TIME


def learner_of(Y, **how):
    """A learner that has learned from whole blocks of frames."""
    options = fit_options(max_iter=12, tol=0, anneal=Anneal(length=8))
    made = Learner(online_fit(Y[None], 2, options, random_state=0, **how))
    for block in cut(Y, BLOCK):
        made.learn(block[None])
    return made


def test_the_scale_fades_by_the_forget_factor():
    Y = frames(N=5 * BLOCK) * np.repeat([1.0, 3.0, 0.5, 10.0, 2.0], BLOCK)
    powers = [np.mean(block**2) for block in cut(Y, BLOCK)]
    faded = 0.5 ** np.arange(4, -1, -1)
    expected = np.sqrt(faded @ powers / faded.sum())
    assert learner_of(Y, forget_factor=0.5).at.scale == pytest.approx(expected, rel=1e-12)


def test_after_a_fit_the_sums_stand_for_all_frames_that_count():
    Y = frames(N=2 * BLOCK)
    at = learner_of(Y, forget_factor=0.5).at  # just fitted, on a window of both blocks
    assert at.learned.fitted_at == at.step == 2
    counted = at.count / M  # frames, of which older ones count less
    assert counted == pytest.approx(1.5 * BLOCK)
    with_both = learner_of(Y, forget_factor=1.0).at
    ratio = at.learned.sums.activation.sum() / with_both.learned.sums.activation.sum()
    unit = (with_both.scale / at.scale) ** 2  # activations are at unit power
    assert ratio == pytest.approx(0.75 * unit, rel=0.05)


def test_sums_are_converted_when_the_scale_changes():
    """A loud block makes the unit of power larger: what was summed before counts in the new one.

    Kullback–Leibler updates keep the sum of the power of a frame.
    """
    Y = frames(N=3 * BLOCK)
    Y[:, 2 * BLOCK :] *= 30
    options = fit_options(divergence="kullback-leibler", sparsity=0.0, max_iter=12, tol=0)
    made = Learner(online_fit(Y[None], 2, options, forget_factor=1.0, random_state=0))
    for block in cut(Y[:, : 2 * BLOCK], BLOCK):
        made.learn(block[None])
    before = made.at
    made.learn(Y[None, :, 2 * BLOCK :])
    after = made.at
    assert after.learned.fitted_at == before.learned.fitted_at  # the sums were not made anew
    total = np.sum(Y**2) / after.scale**2
    assert after.learned.sums.activation.sum() == pytest.approx(total, rel=0.02)
