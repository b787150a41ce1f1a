"""n_components="auto": the number that frames have, and the fit of that number."""

import numpy as np
import pytest
from tensor_problems import tensor

from phinmf import TLNMF, tl_nmf
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


def found(Y, **how):
    return tl_nmf(Y, "auto", **{**DCT, **how}).W.shape[1]


@pytest.mark.parametrize(("K", "snr"), [(3, 40), (5, 10), (8, 30)])
def test_the_number_is_found_in_a_known_transform(K, snr):
    assert found(sounds(K, snr=snr, seed=K)) == K


@pytest.mark.parametrize(("K", "snr"), [(3, 15), (6, 30)])
def test_the_number_is_found_where_the_transform_must_be_learned(K, snr):
    Y = sounds(K, random_orthogonal(64, np.random.default_rng(K)), M=64, N=1500, snr=snr, seed=K)
    assert tl_nmf(Y, "auto", random_state=0, **GAUSSIAN).W.shape[1] == K


@pytest.mark.parametrize("K", [3, 4, 5, 6, 7])
def test_distinct_gamma_factors_are_counted_within_one(K):
    rng = np.random.default_rng(K)
    V = rng.gamma(0.3, size=(48, K)) @ rng.gamma(0.3, size=(K, 1000))
    X = rng.standard_normal(V.shape) * np.sqrt(V)
    assert abs(found(X, init=np.eye(48)) - K) <= 1


def test_the_number_depends_on_the_frames_alone():
    Y = sounds(5, seed=3)
    numbers = {
        found(Y, random_state=7),
        found(4 * Y),
        found(Y[:, ::-1]),
        found(Y.astype(np.float32)),
        found(Y, n_threads=1),
        found(Y, engine="array"),
        found(Y, sparsity=100),
    }
    assert numbers == {5}


def test_weight_two_is_the_frame_twice():
    Y = sounds(4, seed=6)
    weights = np.random.default_rng(0).integers(0, 3, Y.shape[1])
    assert found(Y, sample_weight=weights) == found(np.repeat(Y, weights, axis=1)) == 4
    mask = np.arange(Y.shape[1]) >= 700
    assert found(Y, sample_weight=~mask) == found(Y[:, :700])


@pytest.mark.full
def test_tensors_and_dask_arrays_have_the_same_number():
    Y = sounds(4, seed=7)
    assert tl_nmf(tensor(Y), "auto", **DCT).W.shape[1] == 4
    dask = pytest.importorskip("dask.array")
    lazy = dask.from_array(Y, chunks=(48, 300))
    assert tl_nmf(lazy, "auto", **DCT).W.shape[1] == 4


def test_of_many_frames_some_are_looked_at(monkeypatch):
    Y = np.concatenate([np.zeros((48, 300)), sounds(3, seed=2, N=2400)], axis=1)
    monkeypatch.setattr(automatic, "SAMPLES", 48 * 800)
    monkeypatch.setattr(automatic, "FRAMES", 800)
    seen = []
    real = automatic.over_complete_path
    monkeypatch.setattr(
        automatic,
        "over_complete_path",
        lambda data, *how: seen.append(data.Y) or real(data, *how),
    )
    assert found(Y) == 3
    assert seen[0].shape == (1, 48, 800)
    assert seen[0].any(axis=1).all()  # silence says nothing


@pytest.mark.parametrize("shape", [(1, 5), (2, 1), (3, 2), (1, 4, 30)])
def test_small_problems_have_at_least_one(shape):
    Y = np.random.default_rng(0).standard_normal(shape)
    assert 1 <= found(Y) <= min(shape[-2:])


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"n_components": "many"}, "n_components is 'many', but a whole number is needed, or"),
        ({"W": np.ones((48, 3))}, "n_components is 'auto', but W is given for a known number"),
        ({"H": np.ones((3, 800))}, "n_components is 'auto', but H is given for a known number"),
        ({"fixed": "W"}, "fixed asks for W to stay, but no W is given"),
        ({"fixed": "H"}, "fixed asks for H to stay, but no H is given"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence(how, said):
    with pytest.raises((TypeError, ValueError), match=said):
        tl_nmf(sounds(3), **{"n_components": "auto", **DCT, **how})


def test_a_fixed_transform_is_counted_in_as_it_is():
    Y = sounds(3, seed=2)
    how = DCT | {"solver": "lbfgs"}
    assert found(Y, fixed="Phi", **how) == found(Y, init=dct(48), **how) == 3


def test_time_that_counting_takes_is_not_left_for_the_fit():
    result = tl_nmf(sounds(3), "auto", max_time=1e-9, tol=0, random_state=0)
    assert len(result.history) <= 1


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


@pytest.mark.parametrize("name", ["components", "activations"])
def test_the_estimator_refuses_factors_of_a_known_number(name):
    X = sounds(3).T
    given = {"components": np.ones((3, 48))} if name == "components" else {}
    fit = {"activations": np.ones((800, 3))} if name == "activations" else {}
    with pytest.raises(ValueError, match=f"n_components is 'auto', but {name} have"):
        TLNMF("auto", **given).fit(X, **fit)
