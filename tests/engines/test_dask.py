"""Dask arrays without a cluster: the bits of frames in memory, in any chunks, also from disk."""

import tracemalloc

import numpy as np
import pytest
from clusters import frames, needs_dask, same

import phinmf
from phinmf import TLNMF, Checkpoint, tl_nmf
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


def chunked(Y, chunk=777):
    return da.from_array(Y, chunks=(-1,) * (Y.ndim - 1) + (chunk,))


@pytest.fixture(autouse=True)
def _in_this_process():
    with dask.config.set(scheduler="threads"):
        yield


@pytest.fixture(params=[*MEMORY])
def place(request, tmp_path, monkeypatch):
    """Where the frames are; afterwards no scratch file is left, and there were some on disk."""
    stores, begin = [], FramesOnDisk.__init__

    def noted(self, *args):
        begin(self, *args)
        stores.append(len(self.shards))

    monkeypatch.setattr(FramesOnDisk, "__init__", noted)
    settings = {"phinmf.memory": MEMORY[request.param]}
    with dask.config.set(settings | {"temporary-directory": str(tmp_path / "scratch")}):
        yield stores
    assert request.param == "disk" or not stores
    assert not list(tmp_path.glob("scratch/*"))


@pytest.mark.parametrize(
    ("C", "dtype", "chunk", "how"),
    [
        (1, np.float64, 333, {}),
        (2, np.float32, 333, {}),
        (1, np.float32, 6000, {"sample_weight": np.arange(6000) % 3}),
        (2, np.float64, 511, {"sample_weight": np.arange(6000) % 3}),
        (1, np.float32, 100, {"max_iter": 3}),
        (1, np.float64, 777, {"n_atoms": 9}),
        (2, np.float32, 777, {"n_atoms": 0.9, "sample_weight": np.arange(6000) % 5}),
        *(
            (1, np.float64, 1999, {"max_iter": 2, "solver": solver})
            for solver in ("quasi-newton", "projected-gradient", None)
        ),
    ],
)
def test_same_bits_as_in_memory(place, request, C, dtype, chunk, how):
    Y = frames(C=C, dtype=dtype)
    expected = tl_nmf(Y, **HOW | how)
    same(tl_nmf(da.from_array(Y, chunks=(1, -1, chunk)), **HOW | how), expected)
    if not how:
        assert expected.history.frames[0] < expected.history.frames[-1]
    assert "disk" not in request.node.name or max(place) > 1


def test_a_model_of_the_power(place):
    Y = frames(M=34)[0]
    V_hat = np.random.default_rng(1).random(Y.shape)
    how = {"max_iter": 4, "tol": 0, "init": "random", "random_state": 0}
    expected = phinmf.learn_transform(Y, V_hat, **how)
    learned = phinmf.learn_transform(chunked(Y), V_hat, **how)
    assert np.array_equal(learned.Phi, expected.Phi)
    assert learned.objective == expected.objective


@pytest.mark.parametrize(
    ("place", "smoothness"), [("memory", 0.0), ("disk", 0.0), ("memory", 20.0)], indirect=["place"]
)
@pytest.mark.parametrize("N", [300, 4000])
def test_the_estimator(place, smoothness, N):
    dtype = np.float64 if smoothness else np.float32
    X = frames(N=N, dtype=dtype)[0].T
    lazy = da.from_array(X, chunks=(N // 5, -1))
    how = {"n_components": 3, "max_iter": 4, "tol": 0, "random_state": 0, "smoothness": smoothness}
    expected = TLNMF(**how).fit(X)
    model = TLNMF(**how).fit(lazy)
    for name in ("components_", "transform_matrix_", "objective_", "atom_energies_"):
        assert np.array_equal(getattr(model, name), getattr(expected, name)), name
    assert model.score(lazy) == expected.score(X)
    H = model.transform(lazy)
    assert isinstance(H, da.Array)
    assert (H.shape, H.chunks[0], H.dtype) == ((N, 3), lazy.chunks[0], dtype)
    power = model.inverse_transform(H)
    model.fit(X[::-1] * np.linspace(1, 2, 40))  # what is lazy uses the model as it was
    assert np.allclose(H.compute(), expected.transform(X), rtol=1e-4, atol=1e-9)
    assert np.allclose(power.compute(), expected.inverse_transform(expected.transform(X)))
    both = TLNMF(**how).fit_transform(lazy)
    assert np.array_equal(both.compute(), expected.transform(X))
    with pytest.raises(ValueError, match="X has 39 features, but TLNMF is expecting 40"):
        model.transform(lazy[:, :39].rechunk({1: -1}))


def made_when_read(C, N, reads):
    """Lazy frames (C, 40, N) in chunks of 500, whose lengths are noted when they are made."""

    def make(block_info=None):
        (first, last) = block_info[None]["array-location"][2]
        reads.append(last - first)
        return np.random.default_rng(first).standard_normal((C, 40, last - first))

    chunks = ((C,), (40,), (500,) * (N // 500))
    return da.map_blocks(make, chunks=chunks, dtype=float, meta=np.empty((0, 0, 0)))


def test_no_more_than_three_arrays_of_a_shard_are_in_memory(rng):
    """X, the memory to multiply it in, and what is read ahead; all frames are in files."""
    reads = []
    lazy = made_when_read(2, 40_000, reads)
    W, T = rng.random((40, 2)), np.linalg.qr(rng.standard_normal((40, 40)))[0]
    divergence = phinmf.divergences.DIVERGENCES["itakura-saito"]
    with (
        dask.config.set({"phinmf.memory": "40MB", "scheduler": "sync"}),
        compiled_engine.CompiledEngine(lazy, divergence, 1) as engine,
    ):
        engine.set_activations(rng.random((2, 40_000)))
        engine.rotate(np.eye(40))
        assert not reads
        objective = engine.objective(W, 1e-3)
        objective.evaluate()
        assert max(reads) == 500
        folder, shard = engine.frames.folder, lazy.nbytes / len(engine.frames.shards)
        assert len(engine.frames.shards) >= 4
        assert sum(path.stat().st_size for path in folder.iterdir()) == lazy.nbytes
        tracemalloc.start()
        try:
            for _ in range(3):
                objective.move(T)
                objective.evaluate()
                objective.curvature()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert not folder.exists()
    assert peak < 3.5 * shard


def repeated(C, M, N, dtype=np.float64):
    """Frames of which some are equal and some silent, in no order."""
    Y = np.round(frames(C, M, N, dtype=dtype) * 8) / 8
    Y[:, :, N // 2 :] = Y[:, :, : N - N // 2]
    return Y


GIVEN_H = np.random.default_rng(2).random((2, 100))


@pytest.mark.parametrize(
    ("C", "M", "N", "dtype", "chunk", "how"),
    [
        (1, 16, 8191, np.float64, 1000, {}),  # one frame below the limit, at it, and above it
        (1, 16, 8192, np.float64, 1000, {}),
        (1, 16, 8193, np.float64, 1000, {}),
        (2, 16, 300, np.float32, 7, {"sample_weight": np.arange(300) % 3}),
        (1, 16, 300, np.float64, 300, {"sample_weight": np.arange(300) % 3}),
        (3, 4, 30, np.float32, 1, {}),
        (1, 1, 3, np.float64, 2, {"n_components": 1}),
        (1, 16, 100, np.float64, 33, {"H": GIVEN_H}),
        (1, 16, 100, np.float64, 33, {"H": GIVEN_H, "fixed": "H"}),
        (1, 16, 100, np.float64, 33, {"solver": None}),
    ],
)
def test_small_arrays_have_the_bits_of_numpy(C, M, N, dtype, chunk, how):
    """Equal frames are merged and ordered below the limit, wherever they are."""
    Y = repeated(C, M, N, dtype)
    same(tl_nmf(chunked(Y, chunk), **SMALL | how), tl_nmf(Y, **SMALL | how))


def test_small_arrays_with_a_floor_of_zero():
    Y = frames(M=16, N=300)[:, :, 200:]
    same(tl_nmf(chunked(Y, 33), floor=0, **SMALL), tl_nmf(Y, floor=0, **SMALL))


@pytest.mark.parametrize("Y", [repeated(1, 16, 300), frames(dtype=np.float32)])
def test_a_checkpoint_resumes_with_the_same_frames_in_any_chunks(tmp_path, Y):
    """From arrays to chunks, and back."""
    expected = tl_nmf(Y, engine="compiled", **HOW | {"max_iter": 12})
    for first, second in ((Y, chunked(Y, 77)), (chunked(Y, 900), Y)):
        how = HOW | {"max_iter": 12, "engine": "auto"}
        how |= {"checkpoint": Checkpoint(tmp_path / "c", every=0, resume=True)}
        tl_nmf(first, callback=lambda state: state.iteration == 7, **how)
        same(tl_nmf(second, **how), expected)
        with pytest.raises(ValueError, match="another run, whose frames"):
            tl_nmf(chunked(Y) * 2 + 1, **how)
        (tmp_path / "c").unlink()
