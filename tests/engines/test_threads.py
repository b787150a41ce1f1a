"""Threads change neither each other's fits nor the settings of the caller, and may fork."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from threading import Barrier
from threading import enumerate as threads

import numpy as np
import pytest
import threadpoolctl
from clusters import same
from hostile import blas_threads, nothing_changes
from problems import notes

import phinmf
from phinmf import tl_nmf
from phinmf.arrays.threads import Workers, single_threaded_blas

DOUBLE = {"dtype": "float64", "seed": 0, "solver": "lbfgs"}
SINGLE = {"dtype": "float32", "seed": 1, "solver": "lbfgs"}
QUASI_NEWTON = {"dtype": "float64", "seed": 2, "solver": "quasi-newton"}
GRADIENT = {"dtype": "float32", "seed": 3, "solver": "projected-gradient"}


def fit(dtype, seed, solver, barrier=None):
    Y = notes(M=64, n=30000, seed=seed).astype(dtype)
    if barrier is not None:
        barrier.wait()
    how = {"solver": solver, "random_state": seed, "max_iter": 12, "tol": 0}
    model = phinmf.TLNMF(3, **how)
    return phinmf.tl_nmf(Y, 3, **how), model.fit_transform(Y.T)


def test_any_thread_may_limit_blas_to_one_thread_and_any_may_restore_it():
    """Whichever thread was the first to set the number, and whichever is the last to exit."""
    before = blas_threads()
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        for one, other in [(first, second), (second, first), (first, first)]:
            with single_threaded_blas:
                assert set(blas_threads()) == {1}
            one.submit(single_threaded_blas.__enter__).result()
            assert set(blas_threads()) == {1}
            other.submit(single_threaded_blas.__enter__).result()
            one.submit(single_threaded_blas.__exit__).result()
            assert set(blas_threads()) == {1}
            other.submit(single_threaded_blas.__exit__).result()
            assert blas_threads() == before
            with threadpoolctl.threadpool_limits(2):  # the caller is free again
                assert set(blas_threads()) == {2}


@pytest.mark.parametrize("chosen", [(DOUBLE, QUASI_NEWTON), (SINGLE, GRADIENT)])
def test_fits_at_the_same_time_give_the_same_bits_as_one_after_the_other(chosen):
    alone = [fit(**how) for how in chosen]
    barrier = Barrier(2)
    with nothing_changes(), ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda how: fit(**how, barrier=barrier), chosen))
    for (r, H), (r2, H2) in zip(alone, together, strict=True):
        same(r, r2)
        assert np.array_equal(H, H2)


@pytest.mark.parametrize("n_atoms", [None, 0.999])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_number_of_threads_changes_no_bits_and_none_is_left_behind(dtype, n_atoms):
    Y = notes(M=24, n=20_000) + 0.05 * np.random.default_rng(5).standard_normal((24, 1668))
    how = {"n_components": 3, "n_atoms": n_atoms, "random_state": 0, "max_iter": 20, "tol": 0}
    one, two, again = (tl_nmf(Y.astype(dtype), n_threads=n, **how) for n in (1, 2, 2))
    assert one.history.frames[0] < one.history.frames[-1] == Y.shape[1]
    same(one, two)
    same(one, again)
    assert not [t for t in threads() if t.name.startswith("phinmf")]


def test_blas_has_one_thread_during_a_fit_and_as_many_as_before_after_an_error():
    numbers = []

    def callback(state):
        numbers.extend(blas_threads())
        return 1 / 0 if state.iteration == 2 else None

    tl_nmf(notes(), 2, max_iter=1, tol=0)  # loads what will be loaded
    with (
        threadpoolctl.threadpool_limits(2),
        np.errstate(divide="raise"),
        nothing_changes(),
        pytest.raises(ZeroDivisionError),
    ):
        tl_nmf(notes(), 2, max_iter=3, tol=0, callback=callback)
    assert set(numbers) == {1}


def test_an_error_in_a_worker_reaches_the_caller():
    def fail(i):
        if i == 3:
            raise ZeroDivisionError
        return i

    with Workers(2) as workers:
        with pytest.raises(ZeroDivisionError):
            list(workers.map(fail, range(10)))
        assert list(workers.map(lambda i: i, range(50))) == list(range(50))


def test_an_interrupt_in_a_threaded_pass_waits_for_the_workers():
    """Nothing may still be writing when the caller goes on."""
    written = []

    def work(i):
        time.sleep(0.05)
        written.append(i)

    with Workers(2) as workers:
        results = workers.map(work, range(100))
        next(results)
        with pytest.raises(KeyboardInterrupt):
            results.throw(KeyboardInterrupt)
        after = len(written)
        time.sleep(0.15)
        assert len(written) == after < 8


# a process that forks during a fit: the child can fit, too, with the same thread settings


def needs_fork(test):
    """Mark a test that forks, which Python warns of while there are threads."""
    test = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")(test)
    return pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")(test)


HOW = {"n_components": 3, "max_iter": 6, "tol": 0, "random_state": 0}


def in_child(work):
    """The exit code of a forked child: 0 if the work returns True, None if it does not end."""
    child = get_context("fork").Process(target=lambda: os._exit(0 if work() else 1))
    child.start()
    child.join(30)
    child.kill()
    return child.exitcode


def fits():
    tl_nmf(notes(M=64, n=20000), **HOW)


def enters_and_leaves():
    with single_threaded_blas:
        pass


@needs_fork
@pytest.mark.full
@pytest.mark.parametrize("work", [fits, enters_and_leaves])
def test_a_child_forked_while_another_thread_works(work, rng):
    """During a fit, and while the number of threads is being changed without pause."""
    expected, before = tl_nmf(notes(), **HOW).Phi, blas_threads()
    over = threading.Event()

    def works():
        while not over.is_set():
            work()

    def child():
        with single_threaded_blas:
            alone = set(blas_threads()) == {1}
        same = np.array_equal(tl_nmf(notes(), **HOW).Phi, expected)
        return alone and same and blas_threads() == before

    thread = threading.Thread(target=works)
    thread.start()
    try:
        for _ in range(20):
            time.sleep(rng.uniform(0, 0.02))
            assert in_child(child) == 0
    finally:
        over.set()
        thread.join()
    assert blas_threads() == before


@needs_fork
def test_a_fit_that_forks_continues_and_its_child_can_fit():
    Y, before, codes = notes(M=32, n=20000), blas_threads(), []
    straight = tl_nmf(Y, n_threads=2, **HOW)

    def child():
        return np.array_equal(tl_nmf(Y, n_threads=2, **HOW).Phi, straight.Phi)

    def fork(state):
        if state.iteration == 2:
            codes.append(in_child(child))

    forked = tl_nmf(Y, n_threads=2, callback=fork, **HOW)
    assert codes == [0]
    assert np.array_equal(forked.Phi, straight.Phi)
    assert blas_threads() == before
