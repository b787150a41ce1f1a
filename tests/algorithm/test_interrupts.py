"""Ctrl-C at any moment of a fit leaves a usable result with the status INTERRUPTED."""

import os
import signal
import threading

import numpy as np
import pytest
from hostile import assert_finite, nothing_changes
from problems import notes

import phinmf
from phinmf import TLNMF, Method, Status
from phinmf.algorithm.run import Run
from phinmf.engines.array import ArrayEngine
from phinmf.engines.compiled.engine import CompiledEngine, CompiledObjective
from phinmf.linalg.manifold import orthogonality_error

WHY = "stopped: interrupted"
#: A fit that something else must end; the limit ends the test if nothing does.
ENDLESS = {"max_iter": 100_000, "tol": 0, "max_time": 30}
WHERE = {  # what is interrupted
    "H and the sums for W": (CompiledEngine, "nmf_pass"),
    "between W and the scale of H": (CompiledEngine, "scale_activations"),
    "a line search": (CompiledObjective, "evaluate"),
    "the move to its result": (CompiledObjective, "move"),
    "a new stage": (CompiledEngine, "subset"),
    "Φ made orthogonal again": (phinmf.algorithm.run, "polish"),
    "the start of an iteration": (Run, "update_transform"),
    "the end of an iteration": (phinmf.algorithm.alternate, "reason_to_stop"),
    "the last steps": (Run, "evaluate"),
}


def interrupt_at(monkeypatch, owner, name, call):
    """Raise KeyboardInterrupt in one call of a function, counted from 1."""
    whole, calls = getattr(owner, name), []

    def broken(*args, **how):
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        return whole(*args, **how)

    monkeypatch.setattr(owner, name, broken)
    return calls


def assert_usable(r, Y):
    assert r.status is Status.INTERRUPTED
    assert not r.converged
    assert "interrupted" in repr(r)
    assert_finite(r.Phi, r.W, r.H, r.objective)
    assert r.H.shape[1] == Y.shape[1]
    assert orthogonality_error(r.Phi) < 1e-5
    assert r.objective <= r.history.start + 1e-5 * abs(r.history.start)


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("call", [1, 2, 7])
def test_an_interrupted_step_leaves_a_usable_result(where, call, monkeypatch):
    Y = notes(M=16, n=2000).astype(np.float32 if call == 2 else np.float64)
    with nothing_changes(Y):
        calls = interrupt_at(monkeypatch, *WHERE[where], call)
        r = phinmf.tl_nmf(Y, 3, random_state=0, max_iter=40, tol=0)
    if len(calls) < call:
        assert r.status is Status.MAX_ITER
    else:
        assert_usable(r, Y)


@pytest.mark.parametrize("solver", [*phinmf.solvers.SOLVERS, None])
def test_an_interrupt_returns_the_last_complete_iteration(solver, monkeypatch):
    """Without annealing, for every solver."""
    Y = notes(M=16, n=2000)
    interrupt_at(monkeypatch, ArrayEngine, "nmf_pass", 8)
    how = {"solver": solver, "engine": "array", "random_state": 0}
    r = phinmf.tl_nmf(Y, 3, method=Method(anneal=False, n_iter_nmf=3), **how)
    assert_usable(r, Y)
    assert r.n_iter == 2
    assert r.objective == pytest.approx(r.history.objective[-1], rel=1e-9)


@pytest.mark.parametrize("n_init", [1, 3])
@pytest.mark.parametrize("when", [1, 5])
def test_an_interrupted_estimator_is_fitted_but_not_converged(n_init, when):
    X = notes(M=16, n=2000).T

    def callback(state):
        if state.iteration == when:
            raise KeyboardInterrupt

    model = TLNMF(3, n_init=n_init, random_state=0, callback=callback)
    with nothing_changes(X):
        H = model.fit_transform(X)
    assert not model.converged_
    assert model.stop_reason_.startswith(WHY)
    assert model.n_iter_ == when
    assert len(model.objectives_) == 1  # the other restarts are not started
    assert_finite(H, model.components_, model.objective_, model.score(X))
    assert np.array_equal(model.transform(X), H)


@pytest.mark.skipif(os.name == "nt", reason="signals work differently on Windows")
@pytest.mark.parametrize("delay", [0.0, 0.01, 0.05, 0.1])
def test_a_signal_leaves_a_usable_result(delay):
    """A real SIGINT at an arbitrary moment."""
    Y = notes(M=32, n=20000)
    timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))

    def callback(state):
        if state.iteration == 1:
            timer.start()

    with nothing_changes(Y):
        r = phinmf.tl_nmf(Y, 3, random_state=0, callback=callback, **ENDLESS)
        timer.join()
    assert_usable(r, Y)


@pytest.mark.skipif(os.name == "nt", reason="signals work differently on Windows")
def test_a_signal_ends_restarts_in_threads():
    X = notes(M=32, n=20000).T
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    model = TLNMF(3, n_init=4, n_jobs=2, random_state=0, **ENDLESS)
    timer.start()
    model.fit(X)
    timer.join()
    assert model.stop_reason_.startswith(WHY)
    assert len(model.objectives_) == 2
    assert_finite(model.transform(X), model.objectives_)
    assert not [t for t in threading.enumerate() if t.name.startswith("phinmf")]


def test_an_error_ends_the_other_restarts():
    def callback(state):
        if threading.current_thread().name.endswith("_0"):
            raise RuntimeError("of the caller")

    model = TLNMF(3, n_init=4, n_jobs=2, callback=callback, **ENDLESS)
    with pytest.raises(RuntimeError, match="of the caller"):
        model.fit(notes(M=32, n=20000).T)
