"""Shards on a GPU at real sizes: resident, streamed, in two processes, and lost.

A streamed shard agrees with a resident one to rounding, because products of other lengths may be
computed by other kernels; with itself it agrees to the bit, however its copies and its kernels are
interleaved.
"""

import functools
import os
import signal
import time

import numpy as np
import pytest
from clusters import cluster
from problems import notes

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:Sending large graph"),
]

from device_shards import EPS, KINDS, Case, answers, compare

from phinmf import TLNMF, tl_nmf
from phinmf.arrays.threads import Workers
from phinmf.divergences import COMPILED
from phinmf.engines.blocked.compiled_shard import CompiledShard
from phinmf.engines.blocked.shard import ACCESS
from phinmf.engines.device import host, memory
from phinmf.engines.device.fitting import streamed
from phinmf.engines.device.host import LockedFrames, StagedFrames
from phinmf.engines.remote.cluster import ClusterShards
from phinmf.linalg.manifold import random_orthogonal

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
HIGH = {"floor": 1e-2, "anneal": False, "max_iter": 5, "tol": 0, "random_state": 0}


CASES = [
    {"M": 440, "N": 5418, "K": 10},
    {"M": 441, "N": 5417, "C": 2, "K": 1, "weighted": True},
    {"M": 440, "N": 10_001, "C": 3, "K": 64, "dtype": SINGLE},
    {"M": 1023, "N": 5001, "K": 17, "weighted": True, "dtype": SINGLE},
]


def on_gpu(**how):
    return Case(device="cuda", threads=8, entries=2**22, **how)


def calls_of(case):
    """In single precision it depends on rounding when a frame has converged."""
    return case.calls(converge=case.dtype == DOUBLE)


@functools.cache
def compiled(number):
    """A case, and what the compiled shard answers: computed once for all kinds."""
    case = on_gpu(**CASES[number])
    with Workers(8) as workers:
        shard = CompiledShard(case.Y, case.stretch, workers)
        return case, answers(shard, calls_of(case))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "none kept"])
@pytest.mark.parametrize("number", range(len(CASES)))
def test_every_method_agrees_with_the_compiled_shard(number, kind):
    case, expected = compiled(number)
    rtol = 1e-9 if case.dtype == DOUBLE else 1e-3
    names = compare(expected, case.tensors(kind), calls_of(case), rtol)
    assert names | {"converge_activations"} == set(ACCESS)


@pytest.mark.parametrize("divergence", COMPILED.values(), ids=repr)
def test_every_divergence_agrees_on_a_part_of_the_frames(divergence):
    case = on_gpu(M=128, N=4000, C=2, divergence=divergence, weighted=True, blocks=slice(3, 8))
    compare(case.compiled(), case.tensors("some kept"), case.calls(), 1e-9)


@pytest.fixture(scope="module")
def large():
    return on_gpu(M=2048, N=200_000, K=10, dtype=SINGLE)


@pytest.fixture(scope="module")
def resident(large):
    return outer_iteration(large.tensors(), large)


def outer_iteration(shard, case):
    """What an outer iteration asks of a shard, twice; return all sums."""
    rng = np.random.default_rng(3)
    W = (rng.random((case.M, case.K)) + 0.1).astype(case.dtype)
    n = case.Y.shape[1]
    turned = [random_orthogonal(case.M, rng, case.dtype) for _ in range(2)]
    shard.rotate(turned[0])
    shard.set_activations((rng.random((n, case.K)) + 0.1).astype(case.dtype))
    found = []
    for _ in range(2):
        for _ in range(3):
            found += shard.nmf_pass(W, np.full(case.K, 0.1), EPS, 1.0)
        found += shard.at(W, EPS, None)
        found += shard.curvature(W, EPS, True)
        for _ in range(2):
            found += shard.at(W, EPS, turned[1])
            shard.move(None)
    return [np.asarray(s) for node in found for s in node.sums]


@pytest.mark.parametrize("kind", ["none kept", "some kept", "all kept"])
@pytest.mark.parametrize("read", [False, True])
def test_pieces_in_flight_agree_with_a_resident_shard(large, resident, kind, read):
    """Copies in both directions while the GPU computes: to rounding, and always the same bits."""
    Y, share = large.Y, {"none kept": 0.125, "some kept": 0.25, "all kept": 8.0}[kind]
    source = (lambda frames: Y[:, frames]) if read else Y
    how = Y.shape, Y.dtype, large.stretch, Workers(8), share * Y.nbytes
    shard = streamed("cuda", source, *how)
    assert isinstance(shard.flow.Y, StagedFrames if read else LockedFrames)
    found = outer_iteration(shard, large)
    for a, b in zip(resident, found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-3, atol=1e-3 * np.abs(a).max())
    again = outer_iteration(shard, large)
    assert all(np.array_equal(a, b) for a, b in zip(found, again, strict=True))
    del shard
    assert not +host._locks


def test_an_array_that_cannot_be_locked_passes_through_buffers(large):
    Y = large.Y[:, :20_000].copy()
    Y.flags.writeable = False
    case = on_gpu(M=2048, N=20_000, dtype=SINGLE)
    shard = streamed("cuda", Y, Y.shape, Y.dtype, case.stretch, Workers(8), Y.nbytes / 4)
    assert isinstance(shard.flow.Y, StagedFrames)
    assert np.isfinite(outer_iteration(shard, case)[0]).all()


@pytest.fixture(scope="module")
def Y():
    """As many frames as the paper's recording has."""
    rng = np.random.default_rng(0)
    Y = notes(440, 220 * 5417)
    return Y + 0.01 * rng.standard_normal(Y.shape)


@pytest.mark.parametrize("dtype", [DOUBLE, SINGLE], ids=str)
def test_frames_of_four_times_the_limit_give_the_same_fit(Y, dtype, monkeypatch):
    Y = Y.astype(dtype)
    monkeypatch.setenv(memory.VARIABLE, str(Y.nbytes // 4))
    rtol = 1e-7 if dtype == DOUBLE else 1e-3
    expected = tl_nmf(Y, 10, engine="blocked", **HIGH)
    found = tl_nmf(Y, 10, device="cuda", **HIGH)
    np.testing.assert_allclose(found.history.objective, expected.history.objective, rtol=rtol)
    assert isinstance(found.Phi, np.ndarray)
    short = {"random_state": 0, "max_iter": 16, "tol": 0}
    annealed = [tl_nmf(Y, 10, **short, **how) for how in ({}, {"device": "cuda"})]
    assert annealed[1].objective == pytest.approx(annealed[0].objective, rel=1e-2)


def test_transform_of_four_times_the_limit(Y, monkeypatch):
    model = TLNMF(10, max_iter=5, tol=0, random_state=0, device="cuda").fit(Y.T)
    expected = model.transform(Y.T)
    monkeypatch.setenv(memory.VARIABLE, str(Y.nbytes // 4))
    found = model.transform(Y.T)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * expected.max())


def dask_frames(Y):
    import dask.array as da

    return da.from_array(Y, chunks=(-1, 700))


@pytest.mark.parametrize("limit", [None, "4MB"])
def test_dask_arrays_in_this_process(Y, limit, monkeypatch):
    if limit is not None:
        monkeypatch.setenv(memory.VARIABLE, limit)
    expected = tl_nmf(Y, 10, engine="blocked", **HIGH)
    found = tl_nmf(dask_frames(Y), 10, device="cuda", **HIGH)
    np.testing.assert_allclose(found.history.objective, expected.history.objective, rtol=1e-7)


@pytest.fixture
def seen(monkeypatch):
    """The device of every shard that a cluster has made."""
    devices, submit = [], ClusterShards._submit

    def spied(self, i, *args, **how):
        devices.append(self.devices.of.get(self.at[i]))
        return submit(self, i, *args, **how)

    monkeypatch.setattr(ClusterShards, "_submit", spied)
    return devices


@pytest.mark.parametrize("device", [None, "cuda"])
def test_two_worker_processes_on_one_gpu(Y, seen, device):
    expected = tl_nmf(Y, 10, engine="blocked", **HIGH)
    with cluster(2):
        found = tl_nmf(dask_frames(Y), 10, device=device, **HIGH)
    np.testing.assert_allclose(found.history.objective, expected.history.objective, rtol=1e-7)
    assert set(seen) == {"cuda:0"}


def test_a_lost_gpu_worker_is_replaced(Y, seen):
    expected, killed = tl_nmf(Y, 10, engine="blocked", **HIGH), []

    with cluster(2) as client:

        def kill(state):
            if state.iteration == 3:
                address, pid = next(iter(client.run(os.getpid).items()))
                os.kill(pid, signal.SIGKILL)
                killed.append(address)
                time.sleep(0.1)

        found = tl_nmf(dask_frames(Y), 10, callback=kill, **HIGH)
    assert killed
    np.testing.assert_allclose(found.history.objective, expected.history.objective, rtol=1e-7)
    assert len(seen) == 3
    assert set(seen) == {"cuda:0"}
