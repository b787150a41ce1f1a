"""What is wrong with a dask array or a cluster, in one sentence."""

import contextlib
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
SHORT = da.from_delayed(dask.delayed(np.ones((32, 50))), shape=(32, 300), dtype="f8")
DOORS = {
    "tl_nmf": lambda Y: tl_nmf(Y, 2, max_iter=1),
    "fit": lambda Y: TLNMF(2, max_iter=1).fit(Y.T),
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize(
    ("frames", "message"),
    [
        (Y.rechunk((16, -1)), r"of 32 samples are cut into chunks of 16, .*rechunk\({[01]: -1, "),
        (Y[:, Y[0] > 0], r"unknown sizes, .* call .\.compute_chunk_sizes\(\) first"),
        (da.where(da.arange(32, chunks=-1)[:, None] == 3, np.nan, Y), "5000 NaN or infinite"),
        (da.zeros_like(Y), "all zero"),
        (Y + 1j, "complex"),
        (Y.astype(str), "dtype <U"),
        (SHORT, "says that it has 300, but its chunks hold 50"),
    ],
)
def test_frames(frames, message, door):
    with (
        dask.config.set(scheduler="sync"),
        pytest.raises((TypeError, ValueError), match=message) as error,
    ):
        door(frames)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tl_nmf(Y[0], 2), "Y has 1 dimensions"),
        (lambda: tl_nmf(Y[:, :0], 2), "at least one sample"),
        (lambda: TLNMF(2).fit(Y.T[None]), r"X has shape \(1, 5000, 32\)"),
        (lambda: TLNMF(2, max_iter=1, tol=0).fit(Y.T).transform(Y), "X has 5000 features, but TLN"),
        (lambda: tl_nmf(da.where(da.arange(5000) == 7, 0, Y), 2, floor=0), "1 frames are exactly"),
        (lambda: tl_nmf(Y, 2, engine="array"), "'array', which does not hold dask arrays"),
        (lambda: tl_nmf(Y, 2, device="cuda"), "device is 'cuda', but a dask array is computed on"),
        (lambda: TLNMF(2, device="cuda").fit(Y.T), "device is 'cuda', but a dask array is compute"),
    ],
)
def test_other_arguments(call, message):
    with dask.config.set(scheduler="sync"), pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("amount", ["0", "-1", "lots", None])
@pytest.mark.parametrize(
    ("name", "unit", "what"), [("memory", "GB", "memory"), ("timeout", "s", "time")]
)
def test_no_memory_or_time(name, unit, what, amount):
    value = amount + unit if amount in ("0", "-1") else amount
    with (
        cluster(1, processes=False) if name == "timeout" else contextlib.nullcontext(),
        dask.config.set({f"phinmf.{name}": value}),
        pytest.raises(ValueError, match=f"phinmf.{name} is {value!r}, but some {what} is needed"),
    ):
        tl_nmf(Y, 2)


def test_little_memory(tmp_path):
    """Frames go through files in a folder that need not exist; smoothness needs them in memory."""
    folder = tmp_path / "a" / "b"
    how = {"phinmf.memory": "1MB", "temporary-directory": str(folder), "scheduler": "sync"}
    with dask.config.set(how):
        assert tl_nmf(Y, 2, max_iter=1, tol=0).objective > 0
        with pytest.raises(ValueError, match="needs all frames in memory"):
            tl_nmf(Y, 2, smoothness=3.0)
    assert folder.is_dir()
    assert not list(folder.iterdir())


def test_dask_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.array", None)
    with pytest.raises(ImportError, match=r'not installed: pip install "phinmf\[dask\]"'):
        tl_nmf(np.ones((4, 9)), 2, engine="dask")


def test_a_cluster_without_workers():
    with cluster(0), dask.config.set({"phinmf.timeout": "500ms"}):
        for frames in (Y, np.random.default_rng(0).standard_normal((32, 900))):
            with pytest.raises(ConnectionError, match="has had no running workers for .* dask wor"):
                tl_nmf(frames, 2, engine="dask")
