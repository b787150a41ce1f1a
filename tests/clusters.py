"""Dask clusters for the tests, and what to do where there is no dask."""

import contextlib
import os

import pytest


def needs_dask():
    """Skip the module if dask is missing; in continuous integration it must not be."""
    if os.environ.get("PHINMF_CI"):
        import distributed  # noqa: F401
    else:
        pytest.importorskip("dask.array")
        pytest.importorskip("distributed")


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
