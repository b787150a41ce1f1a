"""Threads change neither each other's fits nor the settings of the caller, and may fork."""

import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from threading import enumerate as threads

import numpy as np
import pytest
import threadpoolctl
from hostile import blas_threads, nothing_changes
from problems import notes

import phinmf
from phinmf import tl_nmf
from phinmf.arrays.threads import Workers, single_threaded_blas

FITS = [
    {"dtype": "float64", "seed": 0, "solver": "lbfgs"},
    {"dtype": "float32", "seed": 1, "solver": "lbfgs"},
    {"dtype": "float64", "seed": 2, "solver": "quasi-newton"},
    {"dtype": "float32", "seed": 3, "solver": "projected-gradient"},
]


def fit(dtype, seed, solver, barrier=None):
    Y = notes(M=64, n=30000, seed=seed).astype(dtype)
    if barrier is not None:
        barrier.wait()
    how = {"solver": solver, "random_state": seed, "max_iter": 12, "tol": 0}
    model = phinmf.TLNMF(3, **how)
    return phinmf.tl_nmf(Y, 3, **how), model.fit_transform(Y.T), model


def test_libraries_are_looked_for_after_an_import_only(monkeypatch):
    looked, kind = [], threadpoolctl.ThreadpoolController
    with single_threaded_blas:
        pass
    begin = kind.__init__
    monkeypatch.setattr(kind, "__init__", lambda new: looked.append(True) or begin(new))
    for expected in (0, 1, 1):
        with single_threaded_blas:
            pass
        assert len(looked) == expected
        monkeypatch.setitem(sys.modules, "a_new_module", sys)


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


@pytest.mark.parametrize("pair", [(0, 1), (0, 2), (1, 3)])
def test_fits_at_the_same_time_give_the_same_bits_as_one_after_the_other(pair):
    chosen = [FITS[i] for i in pair]
    alone = [fit(**how) for how in chosen]
    barrier = Barrier(2)
    with nothing_changes(), ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda how: fit(**how, barrier=barrier), chosen))
    for (r, H, model), (r2, H2, model2) in zip(alone, together, strict=True):
        assert np.array_equal(r.Phi, r2.Phi)
        assert np.array_equal(r.W, r2.W)
        assert np.array_equal(r.H, r2.H)
        assert np.array_equal(r.history.objective, r2.history.objective)
        assert np.array_equal(H, H2)
        assert np.array_equal(model.transform_matrix_, model2.transform_matrix_)


def test_restarts_at_the_same_time():
    X = notes(M=32, n=12000).T
    how = {"n_init": 2, "random_state": 0, "max_iter": 12, "tol": 0}
    one, other = (phinmf.TLNMF(3, n_jobs=n_jobs, **how).fit(X) for n_jobs in (1, 2))
    assert np.array_equal(one.objectives_, other.objectives_)
    assert np.array_equal(one.transform_matrix_, other.transform_matrix_)


def test_a_fit_that_fails_does_not_change_another():
    alone = fit(**FITS[0])[0]
    barrier = Barrier(2)

    def fails():
        barrier.wait()

        def callback(state):
            raise RuntimeError("of the caller")

        phinmf.tl_nmf(notes(), 3, callback=callback)

    with nothing_changes(), ThreadPoolExecutor(2) as pool:
        failed, good = pool.submit(fails), pool.submit(fit, **FITS[0], barrier=barrier)
        with pytest.raises(RuntimeError, match="of the caller"):
            failed.result()
        assert np.array_equal(good.result()[0].Phi, alone.Phi)


def test_no_threads_are_left_behind():
    fit(**FITS[0])
    assert not [t for t in threads() if t.name.startswith("phinmf")]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_number_of_threads_changes_no_bits(dtype):
    Y = notes(M=24, n=20_000) + 0.05 * np.random.default_rng(5).standard_normal((24, 1668))
    how = {"n_components": 3, "random_state": 0, "max_iter": 20, "tol": 0}
    one, two, again = (tl_nmf(Y.astype(dtype), n_threads=n, **how) for n in (1, 2, 2))
    assert one.history.frames[0] < one.history.frames[-1] == Y.shape[1]
    for other in (two, again):
        for name in ("Phi", "W", "H", "objective"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name


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
            workers.each(fail, range(10))
        seen = []
        workers.each(lambda i: i, range(50), seen.append)
        assert seen == list(range(50))


def test_an_interrupt_in_a_threaded_pass_waits_for_the_workers():
    """Nothing may still be writing when the caller goes on."""
    main, written = threading.get_ident(), []

    def work(i):
        if threading.get_ident() == main:
            raise KeyboardInterrupt
        time.sleep(0.05)
        written.append(i)

    with Workers(2) as workers:
        with pytest.raises(KeyboardInterrupt):
            workers.each(work, range(100))
        after = len(written)
        time.sleep(0.15)
        assert len(written) == after < 5


# a process that forks during a fit: the child can fit, too, with the same thread settings


def needs_fork(test):
    """Mark a test that forks, which Python warns of while there are threads."""
    test = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")(test)
    return pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")(test)


HOW = {"n_components": 3, "max_iter": 6, "tol": 0, "random_state": 0}


def in_child(work):
    """The exit code of a forked child: 0 if the work returns True."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return exit_code(pid)


def exit_code(pid):
    """The exit code of a child, None if it does not end."""
    for _ in range(6000):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return None


@needs_fork
@pytest.mark.full
def test_a_child_forked_while_another_thread_fits(rng):
    small, large = notes(), notes(M=64, n=20000)
    expected = tl_nmf(small, **HOW).Phi
    before = blas_threads()
    over = threading.Event()

    def fits():
        while not over.is_set():
            tl_nmf(large, **HOW)

    def child():
        return blas_threads() == before and np.array_equal(tl_nmf(small, **HOW).Phi, expected)

    thread = threading.Thread(target=fits)
    thread.start()
    try:
        for _ in range(25):
            time.sleep(rng.uniform(0, 0.02))
            assert in_child(child) == 0
    finally:
        over.set()
        thread.join()
    assert blas_threads() == before


@needs_fork
@pytest.mark.full
def test_a_child_forked_while_the_number_of_threads_is_being_changed():
    """At the worst moment: another thread enters and leaves without pause."""
    before = blas_threads()
    over = threading.Event()

    def enters_and_leaves():
        while not over.is_set():
            with single_threaded_blas:
                pass

    def child():
        with single_threaded_blas:
            one = set(blas_threads()) == {1}
        return one and blas_threads() == before

    thread = threading.Thread(target=enters_and_leaves)
    thread.start()
    try:
        for _ in range(20):
            assert in_child(child) == 0
    finally:
        over.set()
        thread.join()


@needs_fork
def test_a_fit_that_forks_continues_in_the_child():
    Y = notes(M=32, n=20000)
    before, parent = blas_threads(), os.getpid()
    straight = tl_nmf(Y, n_threads=2, **HOW)
    codes = []

    def fork_once(state):
        if state.iteration == 2 and os.getpid() == parent:
            pid = os.fork()
            if pid:
                codes.append(exit_code(pid))

    try:
        forked = tl_nmf(Y, n_threads=2, callback=fork_once, **HOW)
    finally:
        if os.getpid() != parent:
            same = np.array_equal(forked.Phi, straight.Phi) and blas_threads() == before
            os._exit(0 if same else 1)
    assert codes == [0]
    assert np.array_equal(forked.Phi, straight.Phi)
    assert blas_threads() == before
