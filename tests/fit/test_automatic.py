"""n_components="auto": the number that frames have, and the fit of that number."""

import numpy as np
import pytest
from tensor_problems import tensor

from phinmf import TLNMF, Status, tl_nmf
from phinmf.algorithm.elimination import Powers
from phinmf.algorithm.nmf import normalise
from phinmf.fit import automatic
from phinmf.linalg.manifold import dct, random_orthogonal

DCT = {"solver": None, "max_iter": 2, "tol": 0, "random_state": 0}
GAUSSIAN = {"init": "klt", "divergence": "gaussian", "sparsity": 0, "max_iter": 2, "tol": 0}


def sounds(K, Phi=None, M=48, N=800, snr=25, seed=0, shape=()):
    """Frames of K components, each of which sounds a quarter of the time, and of white noise."""
    rng = np.random.default_rng(seed)
    W = rng.exponential(size=(M, K)) ** 3
    H = rng.exponential(size=(K, N)) * (rng.random((K, N)) < 0.25)
    V = W / W.sum(axis=0) @ H
    X = rng.standard_normal((*shape, M, N)) * np.sqrt(V + V.mean() / 10 ** (snr / 10))
    return (dct(M) if Phi is None else Phi).T @ X


def count(Y, **how):
    return tl_nmf(Y, "auto", **{**DCT, **how}).W.shape[1]


@pytest.mark.parametrize(("K", "snr"), [(3, 40), (5, 10), (8, 30)])
def test_the_number_is_found_in_a_known_transform(K, snr):
    assert count(sounds(K, snr=snr, seed=K)) == K


@pytest.mark.parametrize(("K", "snr"), [(6, 30)])
def test_the_number_is_found_where_the_transform_must_be_learned(K, snr):
    Y = sounds(K, random_orthogonal(64, np.random.default_rng(K)), M=64, N=1500, snr=snr, seed=K)
    assert tl_nmf(Y, "auto", random_state=0, **GAUSSIAN).W.shape[1] == K


def test_the_number_depends_on_the_frames_alone():
    Y = sounds(5, seed=3)
    numbers = {
        count(Y, random_state=7),
        count(4 * Y),
        count(Y[:, ::-1]),
        count(Y.astype(np.float32)),
        count(Y, n_threads=1),
        count(Y, engine="array"),
        count(Y, fixed="Phi", solver="lbfgs"),
    }
    assert numbers == {5}


def test_weight_two_is_the_frame_twice():
    Y = sounds(4, seed=6)
    weights = np.random.default_rng(0).integers(0, 3, Y.shape[1])
    assert count(Y, sample_weight=weights) == count(np.repeat(Y, weights, axis=1)) == 4
    mask = np.arange(Y.shape[1]) >= 700
    assert count(Y, sample_weight=~mask) == count(Y[:, :700])


@pytest.mark.full
def test_tensors_and_dask_arrays_have_the_same_number():
    Y = sounds(4, seed=7)
    assert tl_nmf(tensor(Y), "auto", **DCT).W.shape[1] == 4
    dask = pytest.importorskip("dask.array")
    lazy = dask.from_array(Y, chunks=(48, 300))
    assert tl_nmf(lazy, "auto", **DCT).W.shape[1] == 4


def test_silence_says_nothing_where_not_all_frames_are_looked_at(monkeypatch):
    monkeypatch.setattr(automatic, "SAMPLES", 48 * 800)
    monkeypatch.setattr(automatic, "FRAMES", 800)
    Y = np.concatenate([np.zeros((48, 300)), sounds(3, seed=2, N=2400)], axis=1)
    assert count(Y) == 3


@pytest.mark.parametrize("same", ["spectrum", "activations"])
def test_half_of_a_component_is_replaced_without_a_cost(same, rng):
    """What the others can replace is the first that is removed."""
    floor, W = 0.02, rng.exponential(size=(20, 4)) ** 3
    H = 5 * rng.exponential(size=(4, 90)) * (rng.random((4, 90)) < 0.5)
    W, _ = normalise(W)
    if same == "spectrum":
        split = rng.random(90)
        W2, H2 = np.hstack([W, W[:, :1]]), np.vstack([H, split * H[0]])
        H2[0] -= H2[4]
    else:
        split = rng.random(20)
        W2, H2 = np.hstack([W, (split * W[:, 0])[:, None]]), np.vstack([H, H[:1]])
        W2[:, 0] -= W2[:, 4]
        W2, s = normalise(W2)
        H2 *= s[:, None]
    V = rng.chisquare(1, size=(20, 90)) * (W @ H + floor)
    powers = Powers(V, np.ones(90), floor, 0.1)
    before = powers.objective(W @ H + floor, H.sum(axis=0))
    best = min(powers.replacements(W2, H2), key=lambda r: r.objective)
    assert best.component in (0, 4)
    assert best.in_activations == (same == "spectrum")
    model = np.matmul(*best.applied(W2, H2))
    assert np.linalg.norm(model - W @ H) < 0.05 * np.linalg.norm(W @ H)
    assert best.objective == pytest.approx(before, rel=0.02)


@pytest.mark.parametrize("shape", [(1, 5), (2, 1), (3, 2), (1, 4, 30)])
def test_small_problems_have_at_least_one(shape):
    Y = np.random.default_rng(0).standard_normal(shape)
    assert 1 <= count(Y) <= min(shape[-2:])


@pytest.mark.parametrize(
    "call",
    [
        lambda Y: tl_nmf(Y, "auto", W=np.ones((48, 3)), **DCT),
        lambda Y: tl_nmf(Y, "auto", H=np.ones((3, 800)), **DCT),
        lambda Y: TLNMF("auto", components=np.ones((3, 48))).fit(Y.T),
        lambda Y: TLNMF("auto").fit(Y.T, activations=np.ones((800, 3))),
    ],
)
def test_factors_of_a_known_number_are_refused(call):
    with pytest.raises(ValueError, match="n_components is 'auto', but .* is given for"):
        call(sounds(3))


def test_counting_is_part_of_the_time():
    how = DCT | {"max_iter": 100_000, "max_time": 1e-3}
    r = tl_nmf(sounds(3, seed=2), "auto", **how)
    assert (r.status, r.n_iter) == (Status.MAX_TIME, 1)


def test_the_estimator_counts_once_for_all_restarts(monkeypatch, tmp_path):
    calls = []
    real = automatic.count_components
    monkeypatch.setattr(automatic, "count_components", lambda *how: calls.append(1) or real(*how))
    X = sounds(4).T
    model = TLNMF("auto", n_init=3, max_iter=2, tol=0, random_state=0).fit(X)
    assert model.n_components_ == 4
    assert model.components_.shape == (4, 48)
    assert model.transform(X).shape == (800, 4)
    assert len(calls) == 1
    model.save(tmp_path / "model.npz")
    again = TLNMF.load(tmp_path / "model.npz")
    assert again.n_components == "auto"
    assert again.n_components_ == 4
