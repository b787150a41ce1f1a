"""What a fit must leave as it is, and what must hold for every run."""

import itertools
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


def assert_never_rises(history, slack, size):
    """At one floor and on one set of frames, no outer iteration is above the one before."""
    for before, after in itertools.pairwise(history):
        if (before.floor, before.frames) == (after.floor, after.frames):
            room = slack * max(abs(before.objective), size)
            assert after.objective <= before.objective + room
