"""`TLNMF.partial_fit`: one pass, however frames are cut, in constant memory, and from a file."""

import gc
import itertools
import pickle
import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from phinmf import TLNMF, Anneal, Beta, Method
from phinmf.analysis import held_out
from phinmf.linalg.manifold import dct, random_orthogonal

M = 12  #: samples of a frame
BLOCK = 2 * M  #: the default number of frames of a step


def frames(N=20 * BLOCK, seed=0, K=2, dtype=np.float64, M=M):
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
    online = model(**how)
    for Y in blocks:
        online.partial_fit(Y.T)
    return online


def same(a, b):
    """Two models have the same bits."""
    assert np.array_equal(a.transform_matrix_, b.transform_matrix_)
    assert np.array_equal(a.components_, b.components_)
    for name in ("scale_", "floor_", "objective_", "n_steps_", "n_frames_seen_"):
        assert getattr(a, name) == getattr(b, name)
    rows = [row._replace(seconds=0.0, gradient=0.0) for row in a.history_]
    assert rows == [row._replace(seconds=0.0, gradient=0.0) for row in b.history_]


def cost(estimator, Y):
    return held_out(estimator, Y).objective


def saved(online, path):
    online.save(path)
    return TLNMF.load(path)


def pickled(online, path):
    return pickle.loads(pickle.dumps(online))


def failed(online, path):
    """After a call that was ended by an error."""

    def fails(state):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        online.set_params(callback=fails).partial_fit(frames(N=BLOCK).T)
    return online.set_params(callback=None)


# what is learned


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"block_size": 5, "sparsity": 1.0, "forget_factor": 0.5},
        {"components": np.eye(2, M), "fixed": {"W": np.array([1])}},
        {"components": np.eye(2, M), "fixed": {"Phi": True, "W": [1]}, "init": np.eye(M)},
    ],
)
def test_nothing_that_happens_between_calls_changes_a_bit(tmp_path, how, dtype):
    """Frames in one call, and in many of any size, in memory that is used again."""
    X = frames(N=10 * BLOCK + 5, dtype=dtype).T
    weights = np.ones(len(X))
    weights[3 * BLOCK : 5 * BLOCK] = 0.0  # whole blocks that do not count
    whole, parts = (model(**how) for _ in range(2))
    whole.partial_fit(X, sample_weight=weights)
    memory, first = np.empty((60, M), dtype), 0
    sizes = itertools.cycle([1, 5, BLOCK + 3, 60, 2])
    for size, happens in zip(sizes, itertools.cycle([saved, pickled, failed]), strict=False):
        block = memory[: len(X[first : first + size])]
        block[:] = X[first : first + size]
        parts.partial_fit(block, sample_weight=weights[first : first + size])
        first += size
        if first >= len(X):
            break
        parts = happens(parts, tmp_path / "model")
    same(whole, parts)
    assert whole.transform_matrix_.dtype == whole.components_.dtype == dtype
    if how.get("fixed"):
        assert np.array_equal(whole.components_[1], np.eye(2, M)[1])
        is_given = np.allclose(whole.transform_matrix_, np.eye(M), atol=1e-6)
        assert is_given == ("Phi" in how["fixed"])


def test_what_was_learned_can_be_used_like_that_of_a_fit():
    Y = frames(N=6 * BLOCK)
    online = learned(cut(Y, 7))
    assert (online.n_steps_, online.n_frames_seen_) == (6, Y.shape[1])
    assert online.transform(Y.T).shape == (Y.shape[1], 2)
    assert online.atom_energies_.sum() == pytest.approx(np.sum(Y**2), rel=0.3)  # older ones fade
    assert online.objective_ == pytest.approx(online.history_.objective.sum())
    assert np.isfinite(online.score(Y.T))
    assert online.get_feature_names_out().tolist() == ["tlnmf0", "tlnmf1"]


def test_a_row_of_the_history_is_the_cost_before_anything_is_learned_from_its_block():
    Y = frames(N=5 * BLOCK)
    before = learned([Y[:, : 4 * BLOCK]], forget_factor=1.0)
    new, scale = Y[:, 4 * BLOCK :], np.sqrt(np.mean(Y**2))
    row = clone(before).partial_fit(Y.T).history_[-1]
    before.scale_ = scale  # that of all frames so far
    assert row.objective == pytest.approx(cost(before, new) * new.size, rel=1e-9)
    assert row.frames == BLOCK


def test_one_pass_keeps_most_of_what_a_fit_to_all_frames_gains():
    """On frames of a hidden transform, of a seed by which nothing was chosen."""
    seed, K = 22, 4
    known, unseen = np.split(frames(6000, seed, K, M=32).T, [4800])
    fixed = TLNMF(K, random_state=seed, solver=None).fit(known).score(unseen)
    whole = TLNMF(K, random_state=seed).fit(known).score(unseen)
    online = TLNMF(K, random_state=seed)
    for block in np.split(known, 48):
        online.partial_fit(block)
    assert whole > fixed + 0.2
    assert online.score(unseen) - fixed >= 0.7 * (whole - fixed)


def test_changed_frames_are_followed_and_the_more_so_the_more_is_forgotten():
    A, B = frames(N=20 * BLOCK, seed=3), frames(N=22 * BLOCK, seed=4)
    B, unseen = np.split(B, [20 * BLOCK], axis=1)
    costs = [cost(learned([A, B], forget_factor=f), unseen) for f in (0.7, 1.0)]
    only, before = cost(learned([B]), unseen), cost(learned([A]), unseen)
    assert costs[0] < only + 0.15 * (before - only)
    assert costs[0] < costs[1] < before
    remembered = [cost(learned([A, B], forget_factor=f), A) for f in (0.7, 1.0)]
    assert remembered[1] < remembered[0]


@pytest.mark.full
def test_nothing_grows_with_the_number_of_frames(monkeypatch):
    monkeypatch.setattr("phinmf.fit.online.HISTORY", 5)
    Y, sizes = frames(N=5 * BLOCK), []
    online = model(forget_factor=1.0, solver=None, max_iter=3)
    tracemalloc.start()
    try:
        for number in range(160):
            online.partial_fit(Y.T[(40 * number) % len(Y.T) :][:BLOCK])
            if number % 20 == 19:
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert len(online.history_) == 5
    assert max(sizes[2:]) - sizes[1] < 10 * BLOCK * M * Y.itemsize  # of 120 blocks


def test_the_scale_is_that_of_all_frames_and_fades_by_the_forget_factor():
    Y = frames(N=5 * BLOCK) * np.repeat([1.0, 3.0, 0.5, 10.0, 2.0], BLOCK)
    powers = [np.mean(block**2) for block in cut(Y, BLOCK)]
    faded = 0.5 ** np.arange(4, -1, -1)
    half = learned([Y], forget_factor=0.5)
    assert half.scale_ == pytest.approx(np.sqrt(faded @ powers / faded.sum()), rel=1e-12)
    assert half.floor_ == pytest.approx(1e-8 * half.scale_**2)
    everything = learned([Y], forget_factor=1.0)
    assert everything.scale_ == pytest.approx(np.sqrt(np.mean(Y**2)), rel=1e-12)
    louder = learned([1024 * Y], forget_factor=1.0)
    assert np.array_equal(louder.components_, everything.components_)


@pytest.mark.parametrize(
    "how",
    [
        {"solver": None},
        {"divergence": Beta(1.7), "sparsity": 0.5},  # on the readable engine
        {"init": "random", "solver": "quasi-newton", "max_iter": 3},
        {"forget_factor": 1.0, "block_size": 30},
        {"sparsity": 0.0, "method": Method(anneal=False)},
        {"n_components": "auto"},
        {"pairs": True},
    ],
    ids=str,
)
def test_what_else_can_be_asked_for(how):
    online = model().set_params(**how).partial_fit(frames(N=5 * BLOCK).T)
    Phi, W = online.transform_matrix_, online.components_.T
    np.testing.assert_allclose(Phi @ Phi.T, np.eye(M), atol=1e-12)
    np.testing.assert_allclose(W.sum(axis=0), 1)
    assert (W >= 0).all()
    if how.get("solver", 0) is None:
        np.testing.assert_allclose(Phi, dct(M), atol=1e-14)


# frames before the first step, silence, weights


def test_silence_waits_for_sound():
    online = model().partial_fit(np.zeros((30, M)))
    with pytest.raises(NotFittedError, match="partial_fit with frames that hold sound"):
        online.transform(np.ones((2, M)))
    online.partial_fit(frames(N=5).T)
    assert online.components_.shape == (2, M)
    online.partial_fit(frames(N=3 * BLOCK).T).partial_fit(np.zeros((100, M)))
    assert online.n_frames_seen_ == 135 + 3 * BLOCK
    assert np.isfinite(online.objective_)


def test_weights_count_as_often_as_they_say():
    X = frames(N=4 * BLOCK).T
    weight = np.where(np.arange(len(X)) % 3, 1.0, 0.0)
    most = model(block_size=len(X) // 2).partial_fit(X, sample_weight=weight)
    assert most.scale_ == pytest.approx(np.sqrt(np.mean(X[weight > 0] ** 2)), rel=0.1)
    half = model(solver=None, forget_factor=1.0).partial_fit(X, sample_weight=np.full(len(X), 0.5))
    more = model(solver=None, forget_factor=1.0).partial_fit(X, sample_weight=np.full(len(X), 1.5))
    np.testing.assert_allclose(half.components_, more.components_, rtol=1e-6)
    assert half.objective_ == pytest.approx(more.objective_ / 3)


# after a fit, after a file, after other parameters


def test_it_goes_on_from_a_fit_and_a_fit_forgets_it():
    """A few frames do not replace what the fit has learned."""
    X = frames(N=10 * BLOCK).T
    fitted = model().fit(X)
    Phi, cost, score = fitted.transform_matrix_.copy(), fitted.objective_, fitted.score(X)
    for n in (1, 5, BLOCK + 1):
        fitted.fit(X).partial_fit(X[:n])
        assert np.array_equal(fitted.transform_matrix_, Phi)
        assert fitted.score(X) == score
        assert fitted.n_frames_seen_ == n
    fitted.fit(X).partial_fit(X[: 2 * BLOCK])
    assert fitted.n_steps_ == 2
    assert abs((fitted.transform_matrix_ @ Phi.T).diagonal()).mean() > 0.5
    assert fitted.fit(X).objective_ == cost
    assert not hasattr(fitted, "n_steps_")


def test_parameters_may_change_but_not_the_number_of_components():
    X, online = frames(N=10 * BLOCK).T, model().partial_fit(frames(N=4 * BLOCK).T)
    with pytest.raises(ValueError, match="n_components is 3, but partial_fit began with 2"):
        online.set_params(n_components=3).partial_fit(X)
    online.set_params(n_components=2, divergence="gaussian", fixed="Phi")
    Phi, W = online.transform_matrix_, online.components_
    online.partial_fit(X)
    assert np.array_equal(online.transform_matrix_, Phi)
    assert not np.array_equal(online.components_, W)
    online.set_params(fixed=None, solver=None).partial_fit(X)
    np.testing.assert_allclose(online.transform_matrix_, Phi, atol=1e-12)
    online.set_params(solver="lbfgs").partial_fit(X)
    assert np.abs(online.transform_matrix_ - Phi).max() > 1e-3


# what is refused


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.full((3, M), np.nan), "NaN"),
        (np.full((3, M), 1e39), "X has values that float32, the precision of the first frames"),
        (np.full((4 * BLOCK, M), 1e25), "leave the range of float32: scale them nearer"),
        (np.ones((3, M + 1)), "13 features, but TLNMF is expecting 12 features"),
        (np.ones((2, M, 5)), "one channel"),
    ],
)
def test_bad_frames_are_refused_and_good_ones_of_another_precision_converted(X, message):
    good = frames(N=4 * BLOCK).T
    online = model().partial_fit(good.astype(np.float32))
    with pytest.raises(ValueError, match=message):
        online.partial_fit(X)
    both = np.concatenate([good, good]).astype(np.float32)
    same(online.partial_fit(good), model().partial_fit(both))
    assert online.transform(good[:2]).dtype == np.float64


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"n_atoms": 4}, "n_atoms is 4, .* all frames at once"),
        ({"floor": 0.0}, "floor is 0, .* all frames at once"),
        ({"engine": "dask"}, "engine is 'dask', .* all frames at once"),
        ({"fixed": "H"}, "fixed asks for H to stay"),
        ({"forget_factor": 0.0}, "forget_factor is 0.0, but a finite number > 0 and ≤ 1 is"),
    ],
)
def test_what_needs_all_frames_at_once_is_refused(how, message):
    with pytest.raises(ValueError, match=message):
        learned([frames(N=3 * BLOCK)], **how)
