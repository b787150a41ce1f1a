"""A warning names the line of the caller, through every public function and from every thread."""

import inspect
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from problems import notes
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from phinmf import TLNMF, analysis, learn_transform, tl_nmf, unmix
from phinmf.result import Status
from phinmf.warn import warn

Y = notes(M=8)
#: Two iterations that do not converge to such a tolerance.
HOW = {"max_iter": 2, "tol": 1e-15, "random_state": 0}
MODEL = TLNMF(2, **HOW)


def locations(call, category=ConvergenceWarning):
    """File and line of each warning of a call, and those of the call itself."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call()
    seen = [w for w in seen if issubclass(w.category, category)]
    assert seen
    return {(w.filename, w.lineno) for w in seen}, {(__file__, inspect.getsourcelines(call)[1])}


CALLS = {
    "tl_nmf": lambda: tl_nmf(Y, 2, **HOW),
    "learn_transform": lambda: learn_transform(Y, np.ones(Y.shape), **HOW),
    "TLNMF.fit": lambda: clone(MODEL).fit(Y.T),
    "TLNMF.fit_transform": lambda: clone(MODEL).fit_transform(Y.T),
    "restarts": lambda: clone(MODEL).set_params(n_init=3).fit(Y.T),
    "restarts in threads": lambda: clone(MODEL).set_params(n_init=3, n_jobs=2).fit(Y.T),
    "a dask array": lambda: tl_nmf(pytest.importorskip("dask.array").from_array(Y), 2, **HOW),
    "a pipeline": lambda: make_pipeline(FunctionTransformer(), clone(MODEL)).fit(Y.T),
    "a search": lambda: GridSearchCV(clone(MODEL), {"sparsity": [1, 10]}, cv=2).fit(Y.T),
    "analysis.rank_path": lambda: analysis.rank_path(Y, [1, 2], **HOW),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.full] if "dask" in name else []) for name in CALLS],
)
def test_a_warning_names_the_line_of_the_caller(name):
    found, expected = locations(CALLS[name])
    assert found == expected


def test_each_restart_in_a_thread_warns_once():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        clone(MODEL).set_params(n_init=3, n_jobs=2).fit(Y.T)
    assert len(seen) == 3


def test_unmix(monkeypatch):
    """`unmix` warns of fits that fail; here all do."""
    monkeypatch.setattr(Status, "failed", True)
    y = np.random.default_rng(0).standard_normal(800)
    found, expected = locations(lambda: unmix(y, 8000, 2, window=16, seed=0, max_time=0))
    assert found == expected


def test_the_same_line_is_reported_once_by_default():
    """As for ``warnings.warn``: the line's module remembers what it was warned of."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for _ in range(3):
            warn("once for each line", UserWarning)
    assert [w.lineno for w in seen] == [inspect.currentframe().f_lineno - 1]


@pytest.mark.full
def test_where_the_caller_has_no_file():
    """As in ``python -c`` and at a prompt: the loader of such a module has no source."""
    code = (
        "import numpy as np, phinmf;"
        "phinmf.tl_nmf(np.random.default_rng(0).standard_normal((8, 40)), 2, max_iter=2)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "<string>:1: ConvergenceWarning: not converged" in done.stderr


def test_two_threads_that_unmix_leave_the_filters_of_the_process_alone():
    before, during = list(warnings.filters), []
    y = np.random.default_rng(0).standard_normal(800)

    def unmixed(seed):
        look = lambda state: during.append(list(warnings.filters))  # noqa: E731
        unmix(y, 8000, 2, window=16, seed=seed, callback=look)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(unmixed, range(2)))
    assert during
    assert all(filters == before for filters in [*during, warnings.filters])
