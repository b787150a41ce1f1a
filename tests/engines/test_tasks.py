"""Tasks of the dask engine on simulated workers, which lose everything again and again."""

import io
import pickle
import random

import numpy as np
import pytest
from clusters import growing_noise, needs_dask, same
from tensor_problems import needs_torch

from phinmf import Method, tl_nmf

needs_dask()


class Future:
    """A task and its arguments, which it may have to be computed from again."""

    def __init__(self, key, task, arguments):
        self.key, self.task, self.arguments = key, task, arguments
        self.before = None  # its result, as bytes


class Tasks(pickle.Pickler):
    """Futures are sent by name."""

    def persistent_id(self, value):
        return value.key if isinstance(value, Future) else None


class Values(pickle.Unpickler):
    """A worker reads the results of futures."""

    def __init__(self, file, buffers, result):
        super().__init__(file, buffers=buffers)
        self.persistent_load = result


class TwoWorkers:
    """What `DaskEngine` uses of `Cluster`, in this process; nothing but results is remembered.

    What travels is a copy, read-only and not aligned, as it may be on a cluster. Before a task is
    computed, a worker may lose all that it has, and another one may have to do it.
    """

    def __init__(self, loss, seed=0):
        self.loss, self.random, self.again = loss, random.Random(seed), 0
        self.futures, self.workers = {}, ({}, {})

    def threads(self):
        return ["0", "1"]

    def send(self, array):
        return self.submit(np.array, array.copy("F" if array.flags.fnc else "C"))

    def submit(self, task, *arguments, address=None):
        future = Future(str(len(self.futures)), task, arguments)
        self.futures[future.key] = future
        return future

    def results(self, futures):
        return [self._sent(self._result(f.key, i % 2)) for i, f in enumerate(futures)]

    def _sent(self, value, result=str):
        file, buffers = io.BytesIO(), []
        Tasks(file, protocol=5, buffer_callback=buffers.append).dump(value)
        file.seek(0)
        return Values(file, [self._misaligned(b.raw()) for b in buffers], result).load()

    def _misaligned(self, numbers):
        first = self.random.choice([0, 1, 8, 40])
        memory = bytearray(first) + bytearray(numbers)
        return memoryview(memory)[first:].toreadonly()

    def _result(self, key, worker):
        if self.random.random() < self.loss:
            self.workers[self.random.randrange(2)].clear()
        if self.random.random() < self.loss:
            worker = 1 - worker
        if key not in self.workers[worker]:
            future = self.futures[key]
            arguments = self._sent(future.arguments, lambda key: self._result(key, worker))
            value = future.task(*arguments)
            content = pickle.dumps(value)
            if future.before is not None:
                self.again += 1
                assert content == future.before, future.task
            self.workers[worker][key], future.before = value, content
        return self.workers[worker][key]


@pytest.mark.full
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("device", [None, "cpu:0"])
def test_a_task_has_the_same_bits_wherever_and_however_often_it_is_computed(
    monkeypatch, device, dtype
):
    if device is not None:
        needs_torch()
    monkeypatch.setattr("phinmf.engines.dask.lazy.current_client", object)
    Y = np.concatenate([growing_noise(40, 4000), -0.5 * growing_noise(40, 4000)]).astype(dtype)
    Y[:, :, 100:130] = 0
    how = {"n_components": 3, "random_state": 0, "max_iter": 6, "tol": 0, "floor": 1e-2}
    how |= {"method": Method(anneal=False), "sample_weight": np.arange(4000) % 3}
    results, again = [], 0
    for loss in (0, 0.01, 0.05):
        cluster = TwoWorkers(loss)
        monkeypatch.setattr("phinmf.engines.dask.Cluster", lambda client, cluster=cluster: cluster)
        results.append(tl_nmf(Y, engine="dask", device=device, **how))
        same(results[-1], results[0])
        again += cluster.again
    assert again > 20
    if device is None:
        same(results[0], tl_nmf(Y, engine="compiled", **how))
