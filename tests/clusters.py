"""Dask clusters for the tests, and what to do where there is no dask."""

import contextlib
import subprocess
import sys

import numpy as np
import pytest
from tensor_problems import host

from phinmf.engines import ENGINES


def needs_dask():
    """Skip the module if dask is missing."""
    pytest.importorskip("dask.array")
    pytest.importorskip("distributed")


def engines_here():
    """The registered engines that need no cluster."""
    return {name: kind for name, kind in ENGINES.items() if name != "dask"}


def frames(C=1, M=40, N=6000, dtype=np.float64):
    """Enough samples that equal frames are not merged; some are silent, and the level rises."""
    Y = np.random.default_rng(0).standard_normal((C, M, N)) * np.linspace(0.1, 1, N)
    Y[:, :, 100:130] = 0
    return Y.astype(dtype)


def same(a, b):
    """Two fits have the same bits."""
    for name in ("Phi", "W", "H"):
        assert np.array_equal(host(getattr(a, name)), host(getattr(b, name))), name
    assert a.objective == b.objective
    assert np.array_equal(a.history.objective, b.history.objective)


@contextlib.contextmanager
def cluster(n_workers, **how):
    """A client of a cluster of worker processes with one thread each."""
    from distributed import Client, LocalCluster

    how = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"} | how
    with (
        LocalCluster(n_workers=n_workers, silence_logs=50, **how) as local,
        Client(local) as client,
    ):
        yield client


@contextlib.contextmanager
def worker_process(address):
    """A worker of a cluster in a process that nobody starts again when it ends."""
    code = "from distributed.cli.dask_worker import main; main()"
    how = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--memory-limit", "0"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, "-c", code, address, *how], **quiet)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
