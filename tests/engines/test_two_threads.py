"""Fits that run at the same time change neither each other nor the settings of the caller."""

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from threading import enumerate as threads

import numpy as np
import pytest
import threadpoolctl
from hostile import blas_threads, nothing_changes
from problems import notes

import phinmf
from phinmf.arrays.threads import single_threaded_blas

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


def test_limits_of_the_caller_are_kept():
    with threadpoolctl.threadpool_limits(1), np.errstate(divide="raise"), nothing_changes():
        fit(**FITS[0])


def test_no_threads_are_left_behind():
    fit(**FITS[0])
    assert not [t for t in threads() if t.name.startswith("phinmf")]
