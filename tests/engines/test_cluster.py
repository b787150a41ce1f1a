"""Clusters that lose workers or their scheduler, and how many bytes are sent."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from clusters import cluster, growing_noise, needs_dask, same, worker_process
from problems import Problem

from phinmf import Checkpoint, Method, tl_nmf
from phinmf.arrays import cluster_tasks
from phinmf.engines.remote.engine import DaskEngine
from phinmf.linalg.manifold import random_orthogonal

needs_dask()
import dask
import dask.array as da

from phinmf.engines.remote.cluster import ClusterShards

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(os.name == "nt", reason="a process cannot be killed by a signal"),
]
HOW = {"n_components": 3, "random_state": 0, "max_iter": 12, "tol": 0}


def frames(N=6000):
    return growing_noise(40, N)


@pytest.fixture(scope="module")
def expected():
    return tl_nmf(frames(), engine="compiled", **HOW)


@pytest.fixture(scope="module")
def client():
    with cluster(2) as started:
        yield started


@pytest.fixture
def said():
    """What phinmf logs; a cluster that silences its logs may silence pytest's handlers, too."""
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logging.getLogger("phinmf").addHandler(handler)
    yield lines
    logging.getLogger("phinmf").removeHandler(handler)


@pytest.mark.parametrize(
    ("method", "times"), [("at", 9), ("move", 3), ("keep_activations", 5), ("activations", 1)]
)
def test_a_fit_survives_a_killed_worker(expected, monkeypatch, said, method, times):
    """SIGKILL right before a call: the fit continues, and ends with the same bits."""
    call, asked, killed = ClusterShards.call, [], []

    def deadly(self, i, number, steps):
        if method in dict(steps) and i == 0 and not killed:
            asked.append(method)
            if len(asked) > times:
                victim = self.client.run(os.getpid, workers=[self.at[0]])[self.at[0]]
                os.kill(victim, signal.SIGKILL)
                killed.append(self.at[0])
        return call(self, i, number, steps)

    monkeypatch.setattr(ClusterShards, "call", deadly)
    with cluster(2):
        found = tl_nmf(da.from_array(frames(), chunks=(-1, -1, 700)), **HOW)
    assert killed
    assert any(f"worker {killed[0]} is lost" in line for line in said)
    same(found, expected)


@pytest.mark.parametrize("lazily", [True, False])
def test_a_fit_survives_the_loss_of_all_workers_if_another_one_has_joined(
    expected, monkeypatch, said, lazily
):
    """SIGKILL for every worker right after another one has joined the cluster."""
    call, asked, killed = ClusterShards.call, [], []

    def deadly(self, i, number, steps):
        asked.append(number)
        if len(asked) == 60:
            killed.extend(self.at)
            self.client.cluster.scale(1)
            self.client.wait_for_workers(3, timeout=60)
            for process in two:
                process.kill()
        return call(self, i, number, steps)

    monkeypatch.setattr(ClusterShards, "call", deadly)
    Y = da.from_array(frames(), chunks=(-1, -1, 700)) if lazily else frames()
    with (
        cluster(0, processes=False, protocol="tcp") as client,
        worker_process(client.scheduler.address) as one,
        worker_process(client.scheduler.address) as other,
    ):
        two = one, other
        client.wait_for_workers(2, timeout=60)
        found = tl_nmf(Y, engine="dask", **HOW)
    assert len(set(killed)) == 2
    assert all(any(f"worker {a} is lost" in line for line in said) for a in killed)
    same(found, expected)


def test_an_error_says_that_no_workers_are_left(said):
    def kill(state):
        if state.iteration == 8:
            for pid in client.run(os.getpid).values():
                os.kill(pid, signal.SIGKILL)

    Y = da.from_array(frames(), chunks=(-1, -1, 700))
    with (
        cluster(0, processes=False, protocol="tcp") as client,
        dask.config.set({"phinmf.timeout": "5s"}),
        worker_process(client.scheduler.address),
        pytest.raises(ConnectionError, match="has had no workers for 5 s: start some with dask"),
    ):
        tl_nmf(Y, callback=kill, **HOW)


def paused(dask_worker):
    """What a worker does by itself when 80 % of its memory is used."""
    from distributed.core import Status

    dask_worker.status = Status.paused


def test_an_error_says_that_all_workers_are_paused(said):
    """They answer but start no task: first a warning is logged, then an error is raised."""
    none = "started any task for [12] s: 0 are running, 2 paused because they lack .* more memory"
    Y = da.from_array(frames(), chunks=(-1, -1, 700))
    with (
        cluster(2, processes=False, memory_limit=0) as client,
        dask.config.set({"phinmf.timeout": "1500ms"}),
    ):
        client.run(paused)
        for fit in (tl_nmf, lambda Y, **_: tl_nmf(Y.compute(scheduler="sync"), 3, engine="dask")):
            with pytest.raises(ConnectionError, match=none):
                fit(Y, **HOW)
    assert len(said) == 2
    assert all("no worker of the Dask cluster" in line for line in said)


def test_a_paused_worker_gets_no_frames(expected):
    Y = da.from_array(frames(), chunks=(-1, -1, 700))
    with (
        cluster(2, processes=False, memory_limit=0) as client,
        dask.config.set({"phinmf.timeout": "20s"}),
    ):
        client.run(paused, workers=list(client.scheduler_info()["workers"])[:1])
        same(tl_nmf(Y, **HOW), expected)


def test_an_error_of_a_shard_is_raised_in_the_client(client):
    p = Problem(3, M=12, N=3000, engine="compiled")
    with DaskEngine(da.from_array(p.Y, chunks=(-1, -1, 800)), p.divergence) as engine:
        engine.rotate(p.Phi)
        engine.rotate(p.Phi[:, :5])  # sent with the next call that returns something
        with pytest.raises(ValueError, match="mismatch in its core dimension"):
            engine.energies()


def test_a_fit_survives_a_worker_that_closes(expected):
    """It answers that it cannot compute anything any more: the other one takes over."""
    Y = da.from_array(frames(), chunks=(-1, -1, 700))
    with cluster(2, processes=False) as client:

        def close(state):
            if state.iteration == 8:
                worker = next(iter(client.cluster.workers.values()))
                worker.executors["actor"].shutdown()

        same(tl_nmf(Y, callback=close, **HOW), expected)


def test_chunks_that_wait_for_a_paused_worker_are_computed_on_another():
    """The scheduler had assigned them to it before it was paused."""

    def slow(block):
        time.sleep(0.2)
        return block

    Y = frames(2000)
    lazily = da.from_array(Y, chunks=(-1, -1, 100)).map_blocks(slow, dtype=Y.dtype)
    with (
        cluster(2, processes=False, memory_limit=0) as client,
        dask.config.set({"phinmf.timeout": "3s"}),
    ):
        victim = list(client.scheduler_info()["workers"])[:1]
        timer = threading.Timer(0.5, client.run, (paused,), {"workers": victim})
        timer.start()
        found = cluster_tasks.in_memory(lazily)
        timer.join()
    assert np.array_equal(found, Y)


def test_a_fit_survives_a_worker_without_heartbeats(expected, said):
    """A stopped process keeps its connections open; the scheduler would wait for five minutes."""
    Y = da.from_array(frames(), chunks=(-1, -1, 700))
    with (
        cluster(1, processes=False, protocol="tcp") as client,
        worker_process(client.scheduler.address) as process,
        dask.config.set({"phinmf.timeout": "4s"}),
    ):
        client.wait_for_workers(2, timeout=60)

        def stop(state):
            if state.iteration == 8:
                process.send_signal(signal.SIGSTOP)

        same(tl_nmf(Y, callback=stop, **HOW), expected)
    assert any("is lost: its frames go to" in line for line in said)


def test_a_fit_can_be_a_task_of_the_only_worker(expected):
    """The task frees its thread for the tasks that it waits for."""

    def fit():
        from distributed import (
            get_client,
            worker_client,  # noqa: F401
        )

        with get_client().as_current():
            return tl_nmf(da.from_array(frames(), chunks=(-1, -1, 700)), **HOW)

    with cluster(1, processes=False) as client:
        same(client.submit(fit).result(timeout=60), expected)


def test_a_shard_is_made_again_on_a_worker_that_only_seemed_lost(expected, monkeypatch):
    """One call to the only worker fails: its shard is made again on the same worker."""
    call, asked = ClusterShards.call, []

    def unanswered(self, i, number, steps):
        asked.append(number)
        if len(asked) == 40:
            self.actors[i], actor = Gone(), self.actors[i]
            answer = call(self, i, number, steps)
            self.actors[i] = actor
            return answer
        return call(self, i, number, steps)

    class Gone:
        key = "no such shard"

    monkeypatch.setattr(ClusterShards, "call", unanswered)
    with cluster(1):
        found = tl_nmf(da.from_array(frames(), chunks=(-1, -1, 700)), **HOW)
    assert len(asked) > 40
    same(found, expected)


def test_a_trial_point_that_is_lost_with_its_worker_is_computed_again():
    """The worker is lost between the evaluation of T and the move to TX."""
    p = Problem(3, M=12, N=3000, engine="compiled")
    T = random_orthogonal(12, p.rng)
    expected = p.objective
    expected.move(T)
    with cluster(2), DaskEngine(da.from_array(p.Y, chunks=(-1, -1, 800)), p.divergence) as engine:
        engine.rotate(p.Phi)
        engine.set_activations(p.H)
        objective = engine.objective(p.W, p.eps)
        objective.evaluate(T)
        client, address = engine.shards.client, engine.shards.at[1]
        os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)
        objective.loss()
        objective.move(T)
        here, there = objective.evaluate(), expected.evaluate()
    assert here.loss == there.loss
    assert np.array_equal(here.G, there.G)


SCHEDULER = """
import sys, time
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0",
                      silence_logs=50) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


def test_a_fit_resumes_after_its_scheduler_was_killed(expected, tmp_path):
    """It raises an error, and resumes from its checkpoint on another cluster."""
    script = tmp_path / "scheduler.py"
    script.write_text(SCHEDULER)
    run = subprocess.Popen(
        [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip
    from distributed import Client

    how = HOW | {"checkpoint": Checkpoint(tmp_path / "c", every=0, resume=True)}
    Y = da.from_array(frames(), chunks=(-1, -1, 700))

    def kill(state):
        if state.iteration == 8:
            os.killpg(run.pid, signal.SIGKILL)

    try:
        with dask.config.set({"distributed.comm.timeouts.connect": "2s"}):
            lost = "does not answer any more.*resume from a checkpoint"
            address = run.stdout.readline().strip()
            with Client(address, timeout=5), pytest.raises(ConnectionError, match=lost):
                tl_nmf(Y, callback=kill, **how)
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        run.stdin.close()
        run.stdout.close()
    with cluster(1, processes=False):
        same(tl_nmf(Y, **how), expected)


def test_few_bytes_are_sent(client, monkeypatch):
    """Counted on the connections of this process, which are those of the client."""
    from distributed.comm.tcp import TCP

    client.wait_for_workers(2, timeout=30)
    M, N, K = 128, 4096, 4
    Y = np.random.default_rng(1).standard_normal((M, N))
    bytes_of = {"read": 0, "written": 0}
    write, read = TCP.write, TCP.read

    async def counted_write(self, msg, *args, **how):
        n = await write(self, msg, *args, **how)
        bytes_of["written"] += n or 0
        return n

    async def counted_read(self, *args, **how):
        msg = await read(self, *args, **how)
        bytes_of["read"] += sum(a.nbytes for a in arrays_in(msg))
        return msg

    seen = []

    def look(state):
        seen.append((state.history[-1].evaluations, sum(bytes_of.values())))

    monkeypatch.setattr(TCP, "write", counted_write)
    monkeypatch.setattr(TCP, "read", counted_read)
    how = {
        "max_iter": 10,
        "tol": 0,
        "random_state": 0,
        "method": Method(anneal=False, n_iter_nmf=1),
    }
    tl_nmf(da.from_array(Y, chunks=(-1, 1024)), K, callback=look, **how)
    evaluations, counted = np.diff(np.array(seen), axis=0).sum(axis=0)
    matrices = counted / evaluations / 2 / (M * M * 8)
    print(json.dumps({"matrices per evaluation and worker": matrices}))
    assert 1 < matrices <= 3


def arrays_in(message):
    if isinstance(message, np.ndarray):
        yield message
    elif isinstance(message, dict):
        for value in message.values():
            yield from arrays_in(value)
    elif isinstance(message, (list, tuple)):
        for value in message:
            yield from arrays_in(value)


def test_workers_free_the_frames_after_a_fit(client):
    client.wait_for_workers(2, timeout=30)
    tl_nmf(da.from_array(frames(), chunks=(-1, -1, 700)), **HOW | {"max_iter": 2})

    def actors(dask_worker):
        return len(dask_worker.state.actors)

    for _ in range(50):
        if not any(client.run(actors).values()):
            break
        time.sleep(0.1)
    assert not any(client.run(actors).values())


def test_the_error_of_the_scheduler_for_a_lost_shard_is_recognised():
    of_a_lost_worker = cluster_tasks.of_a_lost_worker
    assert of_a_lost_worker(RuntimeError("Worker holding Actor was lost"))
    assert not of_a_lost_worker(RuntimeError("the frames cannot be read"))
    assert not of_a_lost_worker(ValueError("Actor was lost"))
