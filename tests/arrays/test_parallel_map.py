"""Work that is done ahead comes out in its order."""

import threading
import time

import pytest
import threadpoolctl

from phinmf.arrays.threads import parallel_map


@pytest.mark.parametrize("n", [1, 2, 5, None])
def test_results_come_in_order_and_few_of_them_wait(n):
    begun = []

    def items():
        for i in range(40):
            begun.append(i)
            yield i

    def slower_first(i):
        time.sleep(0.002 * (i % 3 == 0))
        return i * i

    for done, result in enumerate(parallel_map(slower_first, items(), n)):
        assert result == done * done
        assert len(begun) <= done + 2 + (n or 64)
    assert done == 39


@pytest.mark.parametrize("n", [1, 3])
def test_an_error_is_raised_when_its_item_is_due(n):
    before = set(threading.enumerate())
    results = parallel_map(lambda i: 1 / i, [2, 1, 0, 1], n)
    assert [next(results), next(results)] == [0.5, 1.0]
    with pytest.raises(ZeroDivisionError):
        next(results)
    assert not set(threading.enumerate()) - before


def test_a_caller_that_leaves_leaves_no_threads_and_no_limit_of_blas():
    def blas():
        return [pool["num_threads"] for pool in threadpoolctl.threadpool_info()]

    threads, before = set(threading.enumerate()), blas()
    results = parallel_map(lambda i: i, range(100), 3)
    next(results)
    results.close()
    assert not set(threading.enumerate()) - threads
    assert blas() == before
