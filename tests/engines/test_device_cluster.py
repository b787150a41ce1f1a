"""Clusters whose workers compute on devices: here with tensors on the processor."""

import os
import signal

import numpy as np
import pytest
from clusters import cluster, needs_dask
from tensor_problems import needs_torch

from phinmf import tl_nmf
from phinmf.engines.device import memory
from phinmf.engines.remote.devices import GPU_THREADS, WorkerDevices, assigned, visible_gpus

needs_dask()
needs_torch()
import dask.array as da

from phinmf.engines.remote.cluster import ClusterShards

pytestmark = pytest.mark.full

HOW = {"n_components": 3, "random_state": 0, "floor": 1e-2, "anneal": False}
HOW |= {"max_iter": 6, "tol": 0}


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        # plain workers of one machine, which all see all GPUs
        ({"a": ["x", "y"], "b": ["x", "y"]}, {"a": "cuda:0", "b": "cuda:1"}),
        # each worker begins with another GPU
        ({"a": ["x", "y"], "b": ["y", "x"]}, {"a": "cuda:0", "b": "cuda:0"}),
        # two workers share a GPU, a third one has none
        ({"a": ["x"], "b": ["x"], "c": []}, {"a": "cuda:0", "b": "cuda:0", "c": None}),
        # more workers than GPUs, in the order of their addresses
        (
            {"c": ["x", "y"], "b": ["x", "y"], "a": ["x", "y"]},
            {"a": "cuda:0", "b": "cuda:1", "c": "cuda:0"},
        ),
        ({}, {}),
    ],
)
def test_every_worker_gets_the_gpu_with_the_fewest_workers(seen, expected):
    assert assigned(seen) == expected


def test_what_a_worker_raises_is_raised_here():
    with pytest.raises(RuntimeError, match="no driver"):
        assigned({"a": ["x"], "b": RuntimeError("no driver")})


class Asked:
    """What is asked of a cluster whose workers see these GPUs."""

    def __init__(self, seen):
        self.seen = seen

    def ready(self):
        return dict.fromkeys(self.seen, 4)

    def ask(self, function):
        assert function is visible_gpus
        return self.seen


def test_the_workers_choose_their_devices():
    mixed = Asked({"b": [], "a": ["x"]})
    for wanted in (None, "cuda"):
        devices = WorkerDevices(mixed, wanted)
        assert devices.of == {"a": "cuda:0", "b": None}
        assert devices.shares({"b": 4, "a": 8}) == [GPU_THREADS, 4]
        assert (devices.at("a"), devices.at("b")) == (("cuda:0", 1), (None, 1))
    for wanted, device in (("cpu", None), ("cpu:0", "cpu:0")):
        devices = WorkerDevices(mixed, wanted)
        assert devices.of == {"a": device, "b": device}
        assert devices.shares({"b": 4, "a": 8}) is None  # as equal as without devices


def test_workers_on_one_gpu_share_its_memory(monkeypatch):
    devices = WorkerDevices(Asked({"a": ["x", "y"], "b": ["y", "x"], "c": ["x", "y"], "d": ["y"]}))
    assert devices.of == {"a": "cuda:0", "b": "cuda:0", "c": "cuda:0", "d": "cuda:0"}
    assert [devices.at(worker)[1] for worker in "abcd"] == [2, 2, 2, 2]  # x: a, c; y: b, d
    monkeypatch.delenv(memory.VARIABLE, raising=False)
    monkeypatch.setattr(memory, "free_memory", lambda device: 1000)
    assert memory.limit("cuda:0", users=2) == 400


def test_a_gpu_that_no_worker_has_is_reported_in_one_sentence():
    with pytest.raises(ValueError, match="no worker of the Dask cluster has a GPU"):
        WorkerDevices(Asked({"a": []}), "cuda")
    with pytest.raises(ValueError, match="device is 'cuda:1', but every worker .* device='cuda'"):
        WorkerDevices(Asked({"a": ["x"]}), "cuda:1")


def frames():
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((1, 40, 6000)) * np.linspace(0.1, 1, 6000)
    return da.from_array(Y, chunks=(-1, -1, 700))


def agree(found, expected):
    """Every iteration is the same to rounding: at a high floor it is not amplified."""
    np.testing.assert_allclose(found.history.objective, expected.history.objective, rtol=1e-9)
    np.testing.assert_allclose(found.H, expected.H, rtol=1e-5, atol=1e-8)


@pytest.fixture(scope="module")
def expected():
    return tl_nmf(frames().compute(), engine="blocked", **HOW)


@pytest.fixture(scope="module")
def client():
    with cluster(2) as started:
        yield started


@pytest.fixture
def made(monkeypatch):
    """The devices of all shards that were made, and the frames of each."""
    seen, submit = [], ClusterShards._submit

    def spied(self, i, *args, **how):
        own = self.stretches[i].frames
        seen.append((self.devices.of.get(self.at[i]), own.stop - own.start))
        return submit(self, i, *args, **how)

    monkeypatch.setattr(ClusterShards, "_submit", spied)
    return seen


@pytest.fixture
def mixed(monkeypatch):
    """The first worker computes with tensors, the others with compiled kernels."""

    def look(self):
        first, *others = sorted(self.watch.ready())
        self.of = {first: "cpu:0", **dict.fromkeys(others)}

    monkeypatch.setattr(WorkerDevices, "look", look)
    monkeypatch.setattr("phinmf.engines.remote.devices.GPU_THREADS", 3)


def test_a_cluster_of_tensors(client, expected, made):
    agree(tl_nmf(frames(), device="cpu:0", **HOW), expected)
    assert {device for device, _ in made} == {"cpu:0"}


def limit_memory(size):
    os.environ[memory.VARIABLE] = size


def shards_of_worker(dask_worker):
    return [type(actor.shard).__name__ for actor in dask_worker.state.actors.values()]


def test_frames_stream_on_workers_that_have_no_memory_for_them(client, expected):
    kinds = []

    def look(state):
        kinds.extend(kind for held in client.run(shards_of_worker).values() for kind in held)

    client.run(limit_memory, "1MB")
    try:
        agree(tl_nmf(frames(), device="cpu:0", callback=look, **HOW), expected)
    finally:
        client.run(limit_memory, "1TB")
    assert set(kinds) == {"StreamedShard"}


def test_a_mixed_cluster(client, expected, made, mixed):
    """The worker with a device gets more frames."""
    agree(tl_nmf(frames(), **HOW), expected)
    assert [device for device, _ in made] == ["cpu:0", None]
    assert made[0][1] > made[1][1]


def test_a_device_that_workers_do_not_have_is_refused_before_they_are_asked(client):
    with pytest.raises(ValueError, match="device is 'junk', but workers of a Dask cluster"):
        tl_nmf(da.ones((8, 40), chunks=(-1, 10)), 2, device="junk")


def test_without_gpus_compiled_kernels_compute(client, expected):
    for device in (None, "cpu"):
        found = tl_nmf(frames(), device=device, **HOW)
        assert np.array_equal(found.Phi, expected.Phi)
        assert np.array_equal(found.H, expected.H)
    with pytest.raises(ValueError, match="no worker of the Dask cluster has a GPU"):
        tl_nmf(frames(), device="cuda", **HOW)


@pytest.mark.skipif(os.name == "nt", reason="a process cannot be killed by a signal")
def test_a_lost_worker_with_a_device_is_replaced_by_one_without(expected, made, mixed):
    with cluster(2) as client:

        def kill(state):
            if state.iteration == 3:
                first = min(client.run(os.getpid).items())
                os.kill(first[1], signal.SIGKILL)

        agree(tl_nmf(frames(), callback=kill, **HOW), expected)
    assert len(made) == 3  # the one that is made again may be on either kind of worker
