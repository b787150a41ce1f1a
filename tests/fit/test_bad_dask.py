"""What is wrong with a dask array or a cluster, in one sentence."""

import sys

import numpy as np
import pytest
from clusters import cluster, needs_dask

from phinmf import TLNMF, tl_nmf

needs_dask()
import dask
import dask.array as da

pytestmark = pytest.mark.full

Y = da.random.default_rng(0).standard_normal((32, 5000), chunks=(-1, 1000))
DOORS = {
    "tl_nmf": lambda Y: tl_nmf(Y, 2, max_iter=1),
    "fit": lambda Y: TLNMF(2, max_iter=1).fit(Y.T),
}


@pytest.fixture(params=DOORS)
def door(request):
    with dask.config.set(scheduler="sync"):
        yield DOORS[request.param]


def test_a_chunked_axis_of_samples(door):
    with pytest.raises(ValueError) as error:
        door(Y.rechunk((16, -1)))
    said = str(error.value)
    assert "frames of 32 samples are cut into chunks of 16, but a frame must be whole" in said
    assert "rechunk({0: -1, 1: 'auto'})" in said or "rechunk({1: -1, 0: 'auto'})" in said
    assert "\n" not in said


@pytest.mark.parametrize("memory", ["0B", "-1GB", "lots", None])
def test_no_memory(memory):
    with (
        dask.config.set({"phinmf.memory": memory, "scheduler": "sync"}),
        pytest.raises(ValueError, match=f"phinmf.memory is {memory!r}, but some memory is needed"),
    ):
        tl_nmf(Y, 2)


def test_a_device_without_a_cluster():
    for door, frames in ((tl_nmf, Y), (lambda X, K, device: TLNMF(K, device=device).fit(X), Y.T)):
        with pytest.raises(ValueError, match="device is 'cuda', but a dask array is computed on"):
            door(frames, 2, device="cuda")


def test_chunks_of_unknown_size(door):
    with pytest.raises(
        ValueError, match=r"unknown sizes, .* call .\.compute_chunk_sizes\(\) first"
    ):
        door(Y[:, Y[0] > 0])


def test_values_that_are_no_numbers_to_learn_from(door):
    with pytest.raises(ValueError, match="has 5000 NaN or infinite values"):
        door(da.where(da.arange(32, chunks=-1)[:, None] == 3, np.nan, Y))
    with pytest.raises(ValueError, match="all zero"):
        door(da.zeros_like(Y))
    with pytest.raises(ValueError, match="complex"):
        door(Y + 1j)
    with pytest.raises(TypeError, match="dtype <U"):
        door(Y.astype(str))


def test_shapes():
    with pytest.raises(ValueError, match="Y has 1 dimensions"):
        tl_nmf(Y[0], 2)
    with pytest.raises(ValueError, match="at least one sample"):
        tl_nmf(Y[:, :0], 2)
    with pytest.raises(ValueError, match=r"X has shape \(1, 5000, 32\)"):
        TLNMF(2).fit(Y.T[None])


def test_whole_numbers_become_double_precision():
    with dask.config.set(scheduler="sync"):
        r = tl_nmf((100 * Y).astype(np.int16), 2, max_iter=1, tol=0)
    assert r.Phi.dtype == np.float64


def test_a_floor_of_zero_and_silence():
    with dask.config.set(scheduler="sync"):
        with pytest.raises(ValueError, match="floor is 0 but 1 frames are exactly zero"):
            tl_nmf(da.where(da.arange(5000, chunks=1000) == 7, 0, Y), 2, floor=0)
        assert np.isfinite(tl_nmf(Y, 2, floor=0, max_iter=1, tol=0).objective)


def test_an_engine_that_holds_no_dask_arrays():
    with pytest.raises(ValueError, match="'array', which does not hold dask arrays"):
        tl_nmf(Y, 2, engine="array")


def test_dask_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.array", None)
    with pytest.raises(ImportError, match=r'not installed: pip install "phinmf\[dask\]"'):
        tl_nmf(np.ones((4, 9)), 2, engine="dask")


def test_a_cluster_without_workers():
    with cluster(0), dask.config.set({"phinmf.timeout": "500ms"}):
        for what in (Y, np.random.default_rng(0).standard_normal((32, 900))):
            with pytest.raises(
                ConnectionError, match="has had no running workers for .* dask worker"
            ):
                tl_nmf(what, 2, engine="dask")


@pytest.mark.parametrize("timeout", ["0s", "-1s", "soon", None])
def test_no_time(timeout):
    with (
        cluster(1, processes=False),
        dask.config.set({"phinmf.timeout": timeout}),
        pytest.raises(ValueError, match=f"phinmf.timeout is {timeout!r}, but some time is needed"),
    ):
        tl_nmf(Y, 2)


def test_chunks_that_are_not_what_they_say():
    short = da.from_delayed(dask.delayed(np.ones((32, 50))), shape=(32, 300), dtype="f8")
    with (
        dask.config.set(scheduler="sync"),
        pytest.raises(ValueError, match="says that it has 300, but its chunks hold 50"),
    ):
        tl_nmf(short, 2)


def test_features_come_before_chunks():
    with dask.config.set(scheduler="sync"):
        model = TLNMF(2, max_iter=1, tol=0).fit(Y.T)
        with pytest.raises(ValueError, match="X has 5000 features, but TLNMF is expecting 32"):
            model.transform(Y)


def test_a_scratch_folder_that_is_not_there_yet(tmp_path):
    there = tmp_path / "a" / "b"
    how = {"phinmf.memory": "1MB", "temporary-directory": str(there), "scheduler": "sync"}
    with dask.config.set(how):
        assert tl_nmf(Y, 2, max_iter=1, tol=0).objective > 0
    assert there.is_dir()
    assert not list(there.iterdir())


def test_smooth_activations_of_frames_that_do_not_fit():
    how = {"phinmf.memory": "1MB", "scheduler": "sync"}
    with dask.config.set(how), pytest.raises(ValueError, match="needs all frames in memory"):
        tl_nmf(Y, 2, smoothness=3.0)
