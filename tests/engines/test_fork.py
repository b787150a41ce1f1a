"""A process that forks during a fit: the child can fit, too, with the same thread settings."""

import os
import threading
import time

import numpy as np
import pytest
from hostile import blas_threads
from problems import notes

from phinmf import tl_nmf
from phinmf.arrays.threads import single_threaded_blas

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]

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
