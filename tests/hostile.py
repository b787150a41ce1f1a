"""What a fit must leave as it is."""

import warnings
from contextlib import contextmanager

import numpy as np
import threadpoolctl


def surroundings():
    """What a fit must leave as it is."""
    state = np.random.get_state()  # noqa: NPY002
    return {
        "warnings": list(warnings.filters),
        "floating-point errors": np.geterr(),
        "threads": [
            (lib["filepath"], lib["num_threads"]) for lib in threadpoolctl.threadpool_info()
        ],
        "random state": (state[1].tobytes(), state[2:]),
    }


def blas_threads():
    """How many threads each BLAS library uses."""
    return [p["num_threads"] for p in threadpoolctl.threadpool_info() if p["user_api"] == "blas"]


@contextmanager
def nothing_changes(*arrays):
    """The caller's arrays, warnings, thread settings and random state are as before."""
    arrays = [a for a in arrays if a is not None]
    before, copies = surroundings(), [a.copy() for a in arrays]
    yield
    assert surroundings() == before
    for array, copy in zip(arrays, copies, strict=True):
        assert array.dtype == copy.dtype
        assert np.array_equal(array, copy)


def assert_finite(*values):
    for value in values:
        assert np.isfinite(value).all()
