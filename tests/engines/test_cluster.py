"""Fits on a Dask cluster: the bits of one machine, whatever happens to workers and scheduler."""

import functools
import gc
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from clusters import cluster, frames, needs_dask, same, worker_process
from tensor_problems import needs_torch

import phinmf
from phinmf import TLNMF, Checkpoint, Method, tl_nmf
from phinmf.solvers import QuasiNewton

needs_dask()
import dask
import dask.array as da

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(os.name == "nt", reason="a process cannot be killed by a signal"),
]
HOW = {"n_components": 3, "random_state": 0, "max_iter": 8, "tol": 0}


def lazily(Y, n=700):
    return da.from_array(Y, chunks=(1, -1, n))


@functools.cache
def expected():
    """The fit that the tests of lost workers repeat."""
    return tl_nmf(frames(), engine="compiled", **HOW)


@pytest.fixture(scope="module")
def client():
    with cluster(2) as started:
        started.wait_for_workers(2, timeout=60)
        yield started


@pytest.mark.parametrize(
    ("shape", "how"),
    [
        ({"C": 2, "dtype": np.float32}, {"sample_weight": np.arange(6000) % 3}),
        ({"C": 2}, {"divergence": "kullback-leibler"}),
        ({}, {"n_atoms": 9, "max_iter": 12}),
        ({"dtype": np.float32}, {"n_atoms": 0.9, "sample_weight": np.arange(6000) % 5}),
        ({}, {"solver": "quasi-newton", "method": Method(anneal=False), "init": "random"}),
        ({}, {"solver": QuasiNewton(metric="exact")}),
        ({}, {"solver": None}),
        ({}, {"H": np.random.default_rng(0).random((3, 6000)), "fixed": "H"}),
        ({"N": 300}, {}),
    ],
)
def test_the_bits_of_one_machine(client, shape, how):
    Y, how = frames(**shape), HOW | how
    one_machine = tl_nmf(Y, engine="compiled", **how)
    same(tl_nmf(Y, engine="dask", **how), one_machine)
    same(tl_nmf(lazily(Y, 333), **how), one_machine)


def test_a_given_model(client):
    Y = frames(M=34)[0]
    V_hat = np.random.default_rng(1).random(Y.shape)
    how = {"max_iter": 4, "tol": 0, "init": "random", "random_state": 0}
    results = [phinmf.learn_transform(y, V_hat, **how) for y in (Y, da.from_array(Y, (-1, 900)))]
    assert np.array_equal(results[0].Phi, results[1].Phi)
    assert results[0].objective == results[1].objective


@pytest.mark.parametrize(("n_workers", "threads_per_worker"), [(1, 1), (3, 1), (1, 2)])
def test_any_number_of_workers_gives_the_same_bits(n_workers, threads_per_worker):
    with cluster(n_workers, processes=False, threads_per_worker=threads_per_worker):
        same(tl_nmf(lazily(frames()), **HOW), expected())


def kill(client, n):
    """End the processes of the first n workers; their nannies start others."""
    addresses = sorted(client.scheduler_info()["workers"])[:n]
    for pid in client.run(os.getpid, workers=addresses).values():
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("source", [frames, lambda: lazily(frames())])
def test_workers_that_are_killed_change_nothing(source):
    """One in the middle of a call, then all of them between two iterations."""
    timer = []

    def attack(state):
        if state.iteration == 3:
            timer.append(threading.Timer(0.02, kill, (client, 1)))
            timer[0].start()
        elif state.iteration == 6:
            kill(client, None)

    with cluster(2) as client:
        client.wait_for_workers(2, timeout=60)
        same(tl_nmf(source(), engine="dask", callback=attack, **HOW), expected())
    assert timer


def test_an_error_says_that_no_workers_are_left():
    killed = []

    def attack(state):
        if state.iteration == 3:
            process.kill()
            killed.append(time.monotonic())

    none_left = "no running workers for 2 s: start some with dask"
    with (
        cluster(0, processes=False, protocol="tcp") as client,
        dask.config.set({"phinmf.timeout": "2s"}),
        worker_process(client.scheduler.address) as process,
    ):
        client.wait_for_workers(1, timeout=60)
        with pytest.raises(ConnectionError, match=none_left):
            tl_nmf(lazily(frames()), callback=attack, **HOW)
    assert time.monotonic() - killed[0] < 15


def test_an_error_says_that_all_workers_are_paused():
    """As they are when their memory is nearly full."""
    from distributed.core import Status

    with (
        cluster(1, processes=False, memory_limit=0) as client,
        dask.config.set({"phinmf.timeout": "1s"}),
    ):
        client.run(lambda dask_worker: setattr(dask_worker, "status", Status.paused))
        for Y in (frames(), lazily(frames())):
            with pytest.raises(ConnectionError, match="1 are paused: they need more memory"):
                tl_nmf(Y, engine="dask", **HOW)


def test_a_task_that_ends_one_worker_after_the_other():
    Y = lazily(frames()).map_blocks(
        lambda block: os._exit(1), dtype=float, meta=np.empty((0, 0, 0))
    )
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        cluster(1),
        pytest.raises(ConnectionError, match="has lost one worker after the other"),
    ):
        tl_nmf(Y, **HOW)


def test_what_a_task_raises_is_raised_as_it_is(client):
    def unreadable(block, block_info=None):
        if block_info[0]["chunk-location"][2] == 3:
            raise TimeoutError("the disk does not answer")
        return block

    with pytest.raises(TimeoutError, match="the disk does not answer"):
        tl_nmf(lazily(frames()).map_blocks(unreadable, dtype=float), **HOW)


SCHEDULER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0",
                      silence_logs=50) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


def test_a_fit_resumes_after_its_scheduler_was_killed(tmp_path):
    """It raises an error, and resumes from its checkpoint on another cluster."""
    from distributed import Client

    script = tmp_path / "scheduler.py"
    script.write_text(SCHEDULER)
    run = subprocess.Popen(
        [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip
    how = HOW | {"checkpoint": Checkpoint(tmp_path / "c", every=0, resume=True)}
    Y = lazily(frames())

    def attack(state):
        if state.iteration == 4:
            os.killpg(run.pid, signal.SIGKILL)

    try:
        with dask.config.set({"distributed.comm.timeouts.connect": "2s"}):
            lost = "does not answer any more.*resume from a checkpoint"
            address = run.stdout.readline().strip()
            with Client(address, timeout=5), pytest.raises(ConnectionError, match=lost):
                tl_nmf(Y, callback=attack, **how)
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        run.stdin.close()
        run.stdout.close()
    with cluster(1, processes=False):
        same(tl_nmf(Y, **how), expected())


@pytest.mark.parametrize("place", ["persisted", "scattered"])
def test_frames_that_are_on_the_workers_before_the_fit(client, place):
    Y = lazily(frames())
    if place == "persisted":
        Y = Y.persist()
    else:
        parts = client.scatter([frames()[:, :, :2500], frames()[:, :, 2500:]])
        arrays = [
            da.from_delayed(dask.delayed(part), (1, 40, n), float)
            for part, n in zip(parts, (2500, 3500), strict=True)
        ]
        Y = da.concatenate(arrays, axis=2)
    same(tl_nmf(Y, **HOW), expected())


def test_fits_at_the_same_time_on_one_client(client):
    """In two threads of the caller, and as the restarts of an estimator."""
    results = [None, None]

    def fit(i):
        results[i] = tl_nmf(frames(), engine="dask", **HOW)

    threads = [threading.Thread(target=fit, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        same(result, expected())
    X = lazily(frames())[0].T
    how = {"max_iter": 3, "tol": 0, "random_state": 0, "n_init": 2}
    with client.as_current():
        alone, together = (TLNMF(3, n_jobs=n, **how).fit(X) for n in (1, 2))
    assert np.array_equal(alone.objectives_, together.objectives_)


def test_ctrl_c_and_the_end_of_a_fit_leave_nothing_on_the_workers(client):
    def interrupt(state):
        if state.iteration == 3:
            threading.Timer(0.03, signal.raise_signal, (signal.SIGINT,)).start()

    result = tl_nmf(lazily(frames()), callback=interrupt, **HOW | {"max_iter": 200})
    assert result.status == phinmf.result.Status.INTERRUPTED
    assert np.isfinite(result.objective)
    gc.collect()
    for _ in range(50):
        if not any(client.has_what().values()) and not any(client.processing().values()):
            break
        time.sleep(0.1)
    assert not any(client.has_what().values())
    assert not any(client.processing().values())


def test_what_a_cluster_does_not_do(client):
    with pytest.raises(ValueError, match="on the workers of a cluster"):
        tl_nmf(frames(), engine="dask", smoothness=3.0, **HOW)
    with pytest.raises(ValueError, match="losses of pairs"):
        tl_nmf(frames(), engine="dask", solver="jacobi", **HOW)
    with dask.config.set(scheduler="sync"), pytest.raises(ValueError, match="there is no cluster"):
        tl_nmf(frames(), engine="dask", **HOW)


def test_workers_of_another_version(client, monkeypatch):
    monkeypatch.setattr("phinmf.engines.dask.versions", lambda: {"phinmf": "9.9", "numpy": "9.9"})
    with pytest.raises(ImportError, match="but the client 9.9: install the same version"):
        tl_nmf(frames(), engine="dask", **HOW)


UNAMPLIFIED = {"method": Method(anneal=False), "floor": 1e-2}  # rounding stays small


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_workers_compute_with_tensors_if_a_device_is_named(client, dtype):
    """On the processor: "cpu:0" is its name for tensors. A killed worker changes nothing."""
    needs_torch()
    how = HOW | UNAMPLIFIED | {"sample_weight": np.arange(6000) % 3}
    Y = frames(C=2, dtype=dtype)
    expected = tl_nmf(Y, engine="compiled", **how)
    with cluster(3, processes=False):  # parts of two nodes
        on_tensors = tl_nmf(lazily(Y), device="cpu:0", **how)
    np.testing.assert_allclose(on_tensors.objective, expected.objective, rtol=1e-6)
    assert isinstance(on_tensors.H, np.ndarray)
    assert on_tensors.H.dtype == dtype

    def attack(state):
        if state.iteration == 3:
            kill(client, 1)

    results = []
    for callback in (None, attack):
        client.wait_for_workers(2, timeout=60)  # the bits depend on their number
        results.append(tl_nmf(Y, engine="dask", device="cpu:0", callback=callback, **how))
    same(*results)


def test_an_estimator_computes_with_tensors_of_workers(client):
    needs_torch()
    X = lazily(frames())[0].T
    how = {"max_iter": 3, "tol": 0, "random_state": 0} | UNAMPLIFIED
    model, on_tensors = (TLNMF(3, device=device, **how).fit(X) for device in (None, "cpu:0"))
    np.testing.assert_allclose(on_tensors.objective_, model.objective_, rtol=1e-6)
    H, expected = on_tensors.transform(X).compute(), model.transform(X).compute()
    np.testing.assert_allclose(H.sum(), expected.sum(), rtol=1e-3)
    V_hat = frames()[0] ** 2 + 1
    alone, expected = (phinmf.learn_transform(X.T, V_hat, device=d, **how) for d in ("cpu:0", None))
    np.testing.assert_allclose(alone.objective, expected.objective, rtol=1e-6)


def test_a_device_that_workers_do_not_have(client):
    needs_torch()
    with pytest.raises(ValueError, match="device is 'cuda:77', where PyTorch cannot compute"):
        tl_nmf(lazily(frames()), device="cuda:77", **HOW)
