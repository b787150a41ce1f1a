"""Dask arrays without a cluster: the bits of frames in memory. See also test_on_disk.py."""

import itertools

import numpy as np
import pytest
from clusters import needs_dask, same

import phinmf
from phinmf import TLNMF, Checkpoint, tl_nmf

needs_dask()
import dask
import dask.array as da

# Earlier versions of dask say that while a client of another test is open.
pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore:Running on a single-machine scheduler"),
]


def frames(C=1, M=40, N=4000, dtype=np.float64, seed=0):
    """Enough samples that single precision is used and equal frames are not merged."""
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((C, M, N)) * np.linspace(0.1, 1, N)
    Y[:, :, 100:130] = 0
    return Y.astype(dtype)


HOW = {"n_components": 3, "random_state": 0, "max_iter": 8, "tol": 0}


@pytest.fixture(autouse=True)
def _in_this_process():
    with dask.config.set(scheduler="threads"):
        yield


@pytest.mark.parametrize(
    ("shape", "chunks", "how"),
    [
        *(
            ({"C": C, "dtype": dtype, "N": 6000}, 333, {"sample_weight": weights})
            for C, dtype in itertools.product((1, 2), (np.float32, np.float64))
            for weights in (None, np.arange(6000) % 3)
        ),
        *(({"dtype": np.float32}, chunks, {"max_iter": 3}) for chunks in (4000, 1999, 511, 100)),
        *(
            ({"M": 36}, 900, {"max_iter": 2, "solver": solver})
            for solver in ("quasi-newton", "projected-gradient", None)
        ),
    ],
)
def test_any_chunks_give_the_bits_of_frames_in_memory(shape, chunks, how):
    Y, how = frames(**shape), HOW | how
    expected = tl_nmf(Y, engine="compiled", **how)
    assert how["max_iter"] < 8 or expected.history.frames[0] < expected.history.frames[-1]
    same(tl_nmf(da.from_array(Y, chunks=(1, -1, chunks)), **how), expected)


SMALL = {"n_components": 2, "random_state": 0, "max_iter": 4, "tol": 0}


def repeated(C, M, N, dtype=np.float64):
    """Frames of which some are equal and some silent, in no order."""
    Y = np.round(frames(C, M, N, dtype=dtype) * 8) / 8
    Y[:, :, N // 2 :] = Y[:, :, : N - N // 2]
    return Y


@pytest.mark.parametrize(
    ("C", "M", "N", "dtype", "chunks", "weighted"),
    [
        (1, 16, 8191, np.float64, 1000, False),  # one frame below the limit, at it, and above it
        (1, 16, 8192, np.float64, 1000, False),
        (1, 16, 8193, np.float64, 1000, False),
        (2, 16, 300, np.float32, 7, True),
        (1, 16, 300, np.float64, 300, True),
        (3, 4, 30, np.float32, 1, False),
        (1, 1, 3, np.float64, 2, False),
    ],
)
def test_small_arrays_have_the_bits_of_numpy(C, M, N, dtype, chunks, weighted):
    """Equal frames are merged and ordered below the limit, wherever they are."""
    Y = repeated(C, M, N, dtype)
    lazily = da.from_array(Y, chunks=(1, -1, chunks))
    how = SMALL | {"n_components": min(M, 2)}
    if weighted:
        rng = np.random.default_rng(1)
        how |= {"sample_weight": rng.integers(0, 3, N) * (rng.random(N) > 0.1)}
    same(tl_nmf(lazily, **how), tl_nmf(Y, **how))


def test_small_arrays_with_given_factors_or_a_floor_of_zero():
    Y = frames(M=16, N=300)[:, :, 200:]
    lazily = da.from_array(Y, chunks=(1, -1, 33))
    H = np.random.default_rng(2).random((2, 100))
    for how in ({"H": H}, {"H": H, "fixed": "H"}, {"floor": 0}, {"solver": None}):
        same(tl_nmf(lazily, **SMALL | how), tl_nmf(Y, **SMALL | how))


def test_small_arrays_of_the_estimator():
    X = repeated(1, 16, 300)[0].T
    expected = TLNMF(2, max_iter=4, tol=0, random_state=0).fit(X)
    model = TLNMF(2, max_iter=4, tol=0, random_state=0).fit(da.from_array(X, chunks=(70, -1)))
    for name in ("components_", "transform_matrix_", "objective_", "atom_energies_"):
        assert np.array_equal(getattr(model, name), getattr(expected, name)), name


def test_a_small_checkpoint_continues_in_any_chunks(tmp_path):
    Y = repeated(1, 16, 300)
    how = SMALL | {"max_iter": 12, "checkpoint": Checkpoint(tmp_path / "c", every=0, resume=True)}
    for first, second in ((Y, da.from_array(Y, chunks=(1, -1, 77))), (da.from_array(Y), Y)):
        tl_nmf(first, callback=lambda state: state.iteration == 7, **how)
        same(tl_nmf(second, **how), tl_nmf(Y, **SMALL | {"max_iter": 12}))


def test_a_given_model():
    Y = frames(M=34)[0]
    V_hat = np.random.default_rng(1).random(Y.shape)
    how = {"max_iter": 4, "tol": 0, "init": "random", "random_state": 0}
    expected = phinmf.learn_transform(Y, V_hat, **how)
    found = phinmf.learn_transform(da.from_array(Y, chunks=(-1, 900)), V_hat, **how)
    assert np.array_equal(found.Phi, expected.Phi)
    assert found.objective == expected.objective


def test_a_checkpoint_resumes_with_the_same_frames_in_any_chunks(tmp_path):
    Y = frames(dtype=np.float32)
    how = HOW | {"max_iter": 12, "checkpoint": Checkpoint(tmp_path / "c", every=0, resume=True)}
    tl_nmf(Y, engine="compiled", callback=lambda state: state.iteration == 7, **how)
    expected = tl_nmf(Y, engine="compiled", **HOW | {"max_iter": 12})
    chunked = da.from_array(Y, chunks=(-1, -1, 777))
    same(tl_nmf(chunked, **how), expected)
    with pytest.raises(ValueError, match="another run, whose frames"):
        tl_nmf(chunked * 2 + 1, **how)


def test_the_estimator():
    X = frames(dtype=np.float32)[0].T
    lazy = da.from_array(X, chunks=(777, -1))
    how = {"n_components": 3, "max_iter": 4, "tol": 0, "random_state": 0}
    expected = TLNMF(**how).fit(X)
    model = TLNMF(**how).fit(lazy)
    assert np.array_equal(model.components_, expected.components_)
    assert np.array_equal(model.transform_matrix_, expected.transform_matrix_)
    assert model.objective_ == expected.objective_
    assert np.array_equal(model.atom_energies_, expected.atom_energies_)
    assert model.n_features_in_ == 40
    assert model.score(lazy) == expected.score(X)
    H = model.transform(lazy)
    assert isinstance(H, da.Array)
    assert (H.shape, H.chunks[0], H.dtype) == ((4000, 3), lazy.chunks[0], np.float32)
    assert np.allclose(H.compute(), expected.transform(X), rtol=1e-4, atol=1e-9)
    both = TLNMF(**how).fit_transform(lazy)
    assert isinstance(both, da.Array)
    assert np.array_equal(both.compute(), expected.transform(X))
    assert model.inverse_transform(H[:5].compute()).shape == (5, 40)
    with pytest.raises(ValueError, match="X has 39 features, but TLNMF is expecting 40"):
        model.transform(lazy[:, :39].rechunk({1: -1}))
