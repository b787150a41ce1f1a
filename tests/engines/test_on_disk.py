"""Dask arrays without a cluster: the bits of frames in memory, in any chunks, also from disk."""

import itertools

import numpy as np
import pytest
from clusters import needs_dask, same
from few_atoms import check_few, sound

import phinmf
from phinmf import TLNMF, Method, tl_nmf
from phinmf.engines.compiled import engine as compiled_engine
from phinmf.engines.compiled.on_disk import FramesOnDisk

needs_dask()
import dask
import dask.array as da

# Earlier versions of dask say that while a client of another test is open.
pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore:Running on a single-machine scheduler"),
]

HOW = {"n_components": 3, "random_state": 0, "max_iter": 8, "tol": 0}
SMALL = {"n_components": 2, "random_state": 0, "max_iter": 4, "tol": 0}
MEMORY = {"memory": "1GB", "disk": "2MB"}


def frames(C=1, M=40, N=4000, dtype=np.float64, seed=0):
    """Enough samples that single precision is used and equal frames are not merged."""
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((C, M, N)) * np.linspace(0.1, 1, N)
    Y[:, :, 100:130] = 0
    return Y.astype(dtype)


def chunked(Y, chunk=777):
    return da.from_array(Y, chunks=(-1,) * (Y.ndim - 1) + (chunk,))


@pytest.fixture(params=[*MEMORY])
def place(request, tmp_path, monkeypatch):
    """Where the frames are; afterwards no scratch file is left, and there were some on disk."""
    stores, begin = [], FramesOnDisk.__init__

    def noted(self, *args):
        begin(self, *args)
        stores.append(len(self.shards))

    monkeypatch.setattr(FramesOnDisk, "__init__", noted)
    settings = {"phinmf.memory": MEMORY[request.param], "scheduler": "threads"}
    with dask.config.set(settings | {"temporary-directory": str(tmp_path / "scratch")}):
        yield stores
    assert request.param == "disk" or not stores
    assert not list(tmp_path.glob("scratch/*"))


@pytest.mark.parametrize(
    ("C", "dtype", "weighted"),
    [*itertools.product((1, 2), (np.float32, np.float64), (False, True))],
)
def test_same_bits_as_in_memory(place, request, C, dtype, weighted):
    Y = frames(C=C, N=6000, dtype=dtype)
    weights = np.arange(Y.shape[2]) % 3 if weighted else None
    expected = tl_nmf(Y, sample_weight=weights, **HOW)
    assert expected.history.frames[0] < expected.history.frames[-1]
    same(tl_nmf(da.from_array(Y, chunks=(1, -1, 333)), sample_weight=weights, **HOW), expected)
    assert "disk" not in request.node.name or max(place) > 1


@pytest.mark.parametrize("chunk", [4000, 1999, 511, 100])
def test_any_chunks_give_the_same_bits(place, chunk):
    Y = frames(dtype=np.float32)
    how = HOW | {"max_iter": 3}
    same(tl_nmf(chunked(Y, chunk), **how), tl_nmf(Y, **how))


@pytest.mark.parametrize("solver", ["quasi-newton", "projected-gradient", None])
def test_every_solver(place, solver):
    Y = frames(M=36)
    how = HOW | {"max_iter": 2, "solver": solver}
    same(tl_nmf(chunked(Y), **how), tl_nmf(Y, **how))


@pytest.mark.parametrize(("C", "dtype"), [(1, "float64"), (2, "float32")])
@pytest.mark.parametrize("n_atoms", [9, 0.99])
def test_few_atoms(place, always_coarse, C, dtype, n_atoms):
    Y = sound(M=40, n=100_000, C=C, dtype=dtype)
    weights = np.arange(Y.shape[2]) % 5
    how = SMALL | {"n_atoms": n_atoms, "sample_weight": weights, "max_iter": 8}
    expected = tl_nmf(Y, **how)
    r = tl_nmf(chunked(Y), **how)
    same(r, expected)
    check_few(r, Y, r.n_atoms, {}, weights)


def test_a_model_of_the_power(place):
    Y = frames(M=34)[0]
    V_hat = np.random.default_rng(1).random(Y.shape)
    how = {"max_iter": 4, "tol": 0, "init": "random", "random_state": 0}
    expected = phinmf.learn_transform(Y, V_hat, **how)
    learned = phinmf.learn_transform(chunked(Y), V_hat, **how)
    assert np.array_equal(learned.Phi, expected.Phi)
    assert learned.objective == expected.objective


def test_the_estimator(place):
    X = frames(dtype=np.float32)[0].T
    lazy = da.from_array(X, chunks=(777, -1))
    how = {"n_components": 3, "max_iter": 4, "tol": 0, "random_state": 0}
    expected = TLNMF(**how).fit(X)
    model = TLNMF(**how).fit(lazy)
    for name in ("components_", "transform_matrix_", "objective_", "atom_energies_"):
        assert np.array_equal(getattr(model, name), getattr(expected, name)), name
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


def test_new_frames_of_a_dask_array_have_smooth_activations():
    X = frames(N=2000)[0].T
    model = TLNMF(2, smoothness=20.0, max_iter=5, tol=0, random_state=0).fit(X)
    lazy = model.transform(da.from_array(X, chunks=(500, -1)))
    assert isinstance(lazy, da.Array)
    assert np.array_equal(lazy.compute(), model.transform(X))


def test_a_lazy_transform_uses_the_model_as_it_was_when_called():
    X = da.from_array(frames()[0].T, chunks=(1000, -1))
    how = {"max_iter": 4, "tol": 0, "random_state": 0}
    with dask.config.set(scheduler="threads"):
        model = TLNMF(3, callback=lambda state: None, **how).fit(X)
        expected, later = model.transform(X.compute()), model.transform(X)
        power = model.inverse_transform(later)
        expected_power = model.inverse_transform(expected)
        model.fit(X[::-1] * np.linspace(1, 2, 40))
        assert isinstance(power, da.Array)
        assert np.array_equal(later.compute(), expected)
        assert np.allclose(power.compute(), expected_power)


def test_frames_are_read_when_they_are_needed_and_never_held_as_a_whole():
    lengths = []

    def make(block_info=None):
        (first, last) = block_info[None]["array-location"][1]
        lengths.append(last - first)
        return np.random.default_rng(first).standard_normal((40, last - first))

    lazy = da.map_blocks(make, chunks=((40,), (500,) * 8), dtype=float, meta=np.empty((0, 0)))
    model = TLNMF(2, max_iter=2, tol=0, method=Method(anneal=False))
    H = model.fit(da.from_array(lazy.compute().T, chunks=(500, -1))).transform(lazy.T)
    lengths.clear()
    assert H.shape == (4000, 2)
    assert not lengths
    divergence = phinmf.divergences.DIVERGENCES["itakura-saito"]
    with dask.config.set({"phinmf.memory": "2MB", "scheduler": "sync"}):
        with compiled_engine.CompiledEngine(lazy[None], divergence) as engine:
            engine.rotate(np.eye(40))
            assert not lengths
            engine.energies()
            assert max(lengths) == 500
            assert len(engine.frames.shards) >= 4
            folder = engine.frames.folder
            assert sum(path.stat().st_size for path in folder.iterdir()) == 40 * 4000 * 8
        assert not folder.exists()
