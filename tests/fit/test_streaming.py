"""Frames that a device has no memory for stay on the host: the same fit, here on the processor.

The device "cpu:0" stands for tensors on the processor, and the limit for a small GPU.
"""

import numpy as np
import pytest
from clusters import needs_dask
from tensor_problems import needs_torch

import phinmf
from phinmf import TLNMF, Beta, learn_transform, tl_nmf

needs_torch()
needs_dask()
import dask
import dask.array as da

from phinmf.engines.device import fitting, memory
from phinmf.engines.device.resident import TensorShard
from phinmf.engines.device.streamed import StreamedShard

pytestmark = pytest.mark.full

N, M = 6000, 24
HIGH = {"floor": 1e-2, "anneal": False, "max_iter": 4, "tol": 0, "random_state": 0}


@pytest.fixture(scope="module")
def Y():
    return np.random.default_rng(0).standard_normal((M, N)) * np.linspace(0.1, 1, N)


@pytest.fixture
def made(monkeypatch):
    """The kinds of shards that were made, while memory is a quarter of that of the frames."""
    monkeypatch.setenv(memory.VARIABLE, str(M * N * 8 // 4))
    kinds = []
    for kind in (TensorShard, StreamedShard):

        def noted(self, *args, kind=kind, start=kind.__init__, **how):
            kinds.append(kind)
            start(self, *args, **how)

        monkeypatch.setattr(kind, "__init__", noted)
    return kinds


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"smoothness": 2.0},
        {"n_atoms": 10},
        {"divergence": Beta(0.7)},
        {"divergence": "kullback-leibler", "solver": "quasi-newton"},
        {"frame_mask": np.arange(N) % 3 == 0},
    ],
    ids=str,
)
def test_frames_of_four_times_the_limit_give_the_same_fit(Y, made, how):
    expected, found = (tl_nmf(Y, 3, device=d, **HIGH | how) for d in (None, "cpu:0"))
    np.testing.assert_allclose(found.history.objective, expected.history.objective, rtol=1e-10)
    np.testing.assert_allclose(found.H, expected.H, rtol=1e-6, atol=1e-8)
    assert StreamedShard in made
    assert all(isinstance(x, np.ndarray) for x in (found.Phi, found.W, found.H))


def test_a_default_fit_goes_through_all_stages(Y, made):
    """On a sample, with few atoms, in single and in double precision."""
    expected, found = (tl_nmf(Y, 3, device=d, random_state=0) for d in (None, "cpu:0"))
    assert found.objective == pytest.approx(expected.objective, rel=1e-2)
    assert len(set(found.history.frames)) == 2
    assert StreamedShard in made


def test_frames_that_fit_are_moved(Y, made, monkeypatch):
    monkeypatch.setenv(memory.VARIABLE, "1GB")
    expected, found = (tl_nmf(Y, 3, device=d, **HIGH) for d in (None, "cpu:0"))
    assert found.objective == pytest.approx(expected.objective, rel=1e-3)
    assert made == []  # a batch, along the exponential


def test_an_estimator(Y, made):
    here = TLNMF(3, **HIGH).fit(Y.T)
    there = TLNMF(3, device="cpu:0", **HIGH).fit(Y.T)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-10)
    made.clear()
    np.testing.assert_allclose(there.transform(Y.T), here.transform(Y.T), rtol=1e-6, atol=1e-8)
    assert made == [StreamedShard]
    assert there.score(Y.T) == pytest.approx(here.score(Y.T), rel=1e-8)


def test_a_transform_alone(Y, made):
    V_hat, how = Y**2 + 0.1, {"max_iter": 2, "floor": 1e-2, "anneal": False, "tol": 0}
    expected, found = (learn_transform(Y, V_hat, device=d, **how) for d in (None, "cpu:0"))
    assert found.objective == pytest.approx(expected.objective, rel=1e-10)
    assert made == [StreamedShard]


@pytest.mark.parametrize(
    ("host", "limit", "kind"),
    [("8GB", "1GB", TensorShard), ("8GB", "1MB", StreamedShard), ("1MB", "1MB", StreamedShard)],
)
def test_dask_arrays(Y, made, monkeypatch, host, limit, kind):
    """They are read once if they fit into memory, otherwise in each pass."""
    monkeypatch.setenv(memory.VARIABLE, limit)
    read = []

    def noted(block):
        read.append(block.shape)
        return block

    lazily = da.from_array(Y, chunks=(-1, 2000)).map_blocks(noted, meta=Y[:, :0])
    expected = tl_nmf(Y, 3, **HIGH)
    with dask.config.set({"phinmf.memory": host}):
        found = tl_nmf(lazily, 3, device="cpu:0", **HIGH)
    np.testing.assert_allclose(found.history.objective, expected.history.objective, rtol=1e-10)
    assert made == [kind]
    assert (len(read) > 20) == (host == "1MB")


def test_unmix(made, monkeypatch):
    monkeypatch.setenv(memory.VARIABLE, "4MB")
    from phinmf.audio.example import example

    sound = example()
    how = {"n_components": 3, "seed": 0}
    here, there = (
        phinmf.unmix(sound.mixture, sound.sample_rate, device=device, **how)
        for device in (None, "cpu:0")
    )
    assert made
    assert there.model.history.objective[-1] == pytest.approx(
        here.model.history.objective[-1], rel=2e-2
    )


def test_a_device_that_fails_to_hold_its_share_is_reported(Y, made, monkeypatch):
    from tensor_problems import torch

    def full(*args):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate ...")

    monkeypatch.setattr(fitting, "streamed", full)
    with pytest.raises(MemoryError, match="cpu:0 has too little memory: Y of shape"):
        tl_nmf(Y, 3, device="cpu:0", **HIGH)


def test_a_lazy_transform_on_a_device(Y, made):
    lazily = da.from_array(Y.T, chunks=(2000, -1))
    model = TLNMF(3, device="cpu:0", **HIGH).fit(lazily)
    assert StreamedShard in made
    here = TLNMF(3, **HIGH).fit(Y.T).transform(Y.T)
    np.testing.assert_allclose(model.transform(lazily).compute(), here, rtol=1e-6, atol=1e-8)
    model.device = "cuda:99"
    with pytest.raises(ValueError, match="device is 'cuda:99', but"):
        model.transform(lazily)
