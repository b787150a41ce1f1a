"""Smooth activations in threads, on disk: the same bits."""

import numpy as np
import pytest
from clusters import needs_dask
from few_atoms import same_bits, sound

from phinmf import TLNMF, tl_nmf

needs_dask()
import dask
import dask.array as da

from phinmf.engines.remote import disk

pytestmark = pytest.mark.full

Y = sound(M=40, n=100_000)
HOW = {
    "n_components": 3,
    "smoothness": 7.0,
    "max_iter": 6,
    "tol": 0,
    "random_state": 0,
    "sample_weight": np.arange(Y.shape[2]) % 5,
}


@pytest.fixture(scope="module")
def expected():
    return tl_nmf(Y, engine="compiled", n_threads=1, **HOW)


@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads(expected, n_threads):
    assert same_bits(tl_nmf(Y, engine="compiled", n_threads=n_threads, **HOW), expected)


def test_the_readable_engine_agrees(expected):
    readable = tl_nmf(Y, engine="array", **HOW)
    assert readable.objective == pytest.approx(expected.objective, rel=1e-3)


@pytest.mark.parametrize("chunk", [333, 5000])
def test_dask_without_a_client(expected, chunk):
    lazy = da.from_array(Y, chunks=(-1, -1, chunk))
    assert same_bits(tl_nmf(lazy, **HOW), expected)


def test_on_disk(expected, tmp_path, monkeypatch):
    made, begin = [], disk.DiskShards.__init__

    def noted(self, *args):
        begin(self, *args)
        made.append(len(self.shards))

    monkeypatch.setattr(disk.DiskShards, "__init__", noted)
    settings = {"phinmf.memory": "1.5MB", "temporary-directory": str(tmp_path)}
    with dask.config.set(settings):
        found = tl_nmf(da.from_array(Y, chunks=(-1, -1, 700)), **HOW)
    assert same_bits(found, expected)
    assert max(made) > 1
    assert not list(tmp_path.iterdir())


def test_new_frames_of_a_dask_array():
    X = Y[0].T
    model = TLNMF(2, smoothness=20.0, max_iter=5, tol=0, random_state=0).fit(X)
    H = model.transform(X)
    lazy = model.transform(da.from_array(X, chunks=(500, -1)))
    assert isinstance(lazy, da.Array)
    assert np.array_equal(lazy.compute(), H)
