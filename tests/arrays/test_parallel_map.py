"""Work that is done ahead comes out in its order."""

import threading
import time

import pytest
from hostile import nothing_changes

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
def test_an_error_is_raised_when_its_item_is_due_and_nothing_is_left_behind(n):
    """Nor by a caller that leaves."""
    with nothing_changes():
        before = set(threading.enumerate())
        for items in ([2, 1, 0, 1], [2, 1] * 50):
            results = parallel_map(lambda i: 1 / i, items, n)
            assert [next(results), next(results)] == [0.5, 1.0]
            if 0 in items:
                with pytest.raises(ZeroDivisionError):
                    next(results)
            results.close()
            assert not set(threading.enumerate()) - before
