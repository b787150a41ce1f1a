"""The fast engine against the readable one, and the same bits whatever the threads."""

import threading

import numpy as np
import pytest
import threadpoolctl
from hypothesis import given
from hypothesis import strategies as st
from problems import SUPPORTED, Problem, notes, seeds

import phinmf
from phinmf.divergences import Penalty
from phinmf.engines.compiled.summation import MAX_FRAMES, blocks_of
from phinmf.linalg.manifold import random_orthogonal


def both(dtype, **how):
    """The same problem in both engines."""
    pair = [Problem(engine=name, dtype=dtype, **how) for name in ("array", "compiled")]
    return [(p, p.objective) for p in pair]


def close(a, b, tolerance):
    return np.abs(np.subtract(a, b)).max() <= tolerance * max(np.abs(a).max(), 1e-300)


@given(
    seed=seeds,
    M=st.integers(2, 20),
    N=st.sampled_from([1, 2, 7, 255, 513, 1100]),
    C=st.integers(1, 3),
    K=st.integers(1, 5),
    eps=st.sampled_from([1e-8, 1e-3, 1e-1]),
    divergence=st.sampled_from(sorted(d for d, engine in SUPPORTED if engine == "compiled")),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_compiled_is_array(dtype, **how):
    tolerance = 1e-10 if dtype == np.float64 else 1e-4
    (slow, a), (fast, b) = both(dtype, **how)
    T = random_orthogonal(how["M"], slow.rng, dtype)
    for given_T in (None, T):
        one, other = a.evaluate(given_T), b.evaluate(given_T)
        assert abs(one.loss - other.loss) <= tolerance * (abs(one.loss) + slow.Y[0].size)
        assert close(one.G, other.G, tolerance)
    assert close(a.bound(), b.bound(), tolerance)
    assert close(a.curvature(), b.curvature(), tolerance)
    assert b.loss() == pytest.approx(a.loss(), rel=tolerance, abs=tolerance * slow.Y[0].size)
    one, other = (p.engine.nmf_pass(p.W, Penalty(0.3), p.eps, 1.0) for p in (slow, fast))
    assert close(slow.engine.activations(), fast.engine.activations(), tolerance)
    for x, y in zip(one, other, strict=True):
        assert close(x, y, tolerance)


def test_logarithms_are_taken_one_by_one_if_a_product_overflows():
    """A model 200 orders of magnitude off: eight ratios multiply to more than a double holds."""
    (slow, a), (fast, b) = both(np.float64, seed=0, eps=0.0, N=40)
    for problem in (slow, fast):
        problem.engine.set_activations(problem.H * 1e-200)
    expected = slow.objective.evaluate().loss
    assert np.isfinite(expected)
    assert fast.objective.evaluate().loss == pytest.approx(expected, rel=1e-12)
    assert a.evaluations == b.evaluations == 0


@pytest.mark.parametrize("N", [1, 2, 255, 256, 511, 512, 5418, 100_000])
def test_blocks_cover_all_frames_once(N):
    blocks = blocks_of(N)
    assert [i for b in blocks for i in (b.start, b.stop)][1:-1:2] == [b.start for b in blocks[1:]]
    assert (blocks[0].start, blocks[-1].stop) == (0, N)
    sizes = [b.stop - b.start for b in blocks]
    assert max(sizes) <= MAX_FRAMES
    assert max(sizes) - min(sizes) <= 1


def long_recording():
    """Enough frames for several blocks, and for a sample of them."""
    rng = np.random.default_rng(5)
    return notes(M=24, n=20_000) + 0.05 * rng.standard_normal((24, 1668))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_do_not_change_a_bit(dtype):
    Y = long_recording().astype(dtype)
    how = {"n_components": 3, "random_state": 0, "max_iter": 20, "tol": 0}
    one, two, again = (phinmf.tl_nmf(Y, n_threads=n, **how) for n in (1, 2, 2))
    assert one.history.frames[0] < one.history.frames[-1] == Y.shape[1]
    for other in (two, again):
        assert np.array_equal(one.Phi, other.Phi)
        assert np.array_equal(one.W, other.W)
        assert np.array_equal(one.H, other.H)
        assert one.objective == other.objective


def thread_settings():
    import numba

    keys = ("filepath", "user_api", "num_threads")
    pools = [tuple(p[k] for k in keys) for p in threadpoolctl.threadpool_info()]
    return sorted(pools), numba.get_num_threads()


def test_the_caller_s_thread_settings_are_left_alone():
    phinmf.tl_nmf(notes(), 2, max_iter=1, tol=0)
    thread_settings()  # loads what will be loaded
    with threadpoolctl.threadpool_limits(2):
        before = thread_settings()
        seen = []
        phinmf.tl_nmf(
            notes(), 2, max_iter=3, tol=0, callback=lambda _: seen.append(thread_settings())
        )
        with pytest.raises(ZeroDivisionError):
            phinmf.tl_nmf(notes(), 2, max_iter=3, tol=0, callback=lambda _: 1 / 0)
        assert thread_settings() == before
        assert {n for _, api, n in seen[0][0] if api == "blas"} == {1}


def test_two_fits_in_two_threads_do_not_disturb_each_other():
    Y = long_recording()
    how = {"n_components": 3, "max_iter": 10, "tol": 0}
    alone = [phinmf.tl_nmf(Y, random_state=seed, **how) for seed in (0, 1)]
    before = thread_settings()
    together = {}
    threads = [
        threading.Thread(
            target=lambda s=seed: together.update({s: phinmf.tl_nmf(Y, random_state=s, **how)})
        )
        for seed in (0, 1)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert thread_settings() == before
    for seed in (0, 1):
        assert np.array_equal(together[seed].Phi, alone[seed].Phi)
        assert np.array_equal(together[seed].H, alone[seed].H)


def test_an_error_in_a_worker_reaches_the_caller():
    from phinmf.arrays.threads import Workers

    def fail(i):
        if i == 3:
            raise ZeroDivisionError
        return i

    with Workers(2) as workers:
        with pytest.raises(ZeroDivisionError):
            workers.each(fail, range(10))
        seen = []
        workers.in_order(lambda i: i, range(50), seen.append)
        assert seen == list(range(50))


def test_an_interrupt_in_a_threaded_pass_waits_for_the_workers():
    """Nothing may still be writing when the caller goes on."""
    import time

    from phinmf.arrays.threads import Workers

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


def test_an_interrupt_in_the_middle_of_an_evaluation(monkeypatch):
    from phinmf.engines.compiled.engine import CompiledObjective

    calls, evaluate = [], CompiledObjective.evaluate

    def interrupted(self, T=None):
        calls.append(1)
        if len(calls) == 40:
            raise KeyboardInterrupt
        return evaluate(self, T)

    monkeypatch.setattr(CompiledObjective, "evaluate", interrupted)
    r = phinmf.tl_nmf(long_recording(), 3, random_state=0)
    assert r.status is phinmf.Status.INTERRUPTED
    assert r.objective <= r.history.start


def test_the_first_compilation_is_announced_once(monkeypatch, caplog, tmp_path):
    """Not what comes from the disk, nor what the caller compiles."""
    import numba

    from phinmf.engines.compiled.compiling import announcement, compiled

    def fresh():
        def one(x):
            return x + 1

        one.__module__ = "phinmf.one"
        return compiled(one)

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(announcement, "silent", False)
    numba.njit(lambda x: x)(1)
    assert caplog.messages == []
    one = fresh()
    assert (one(1), one(1.0)) == (2, 2.0)
    (message,) = caplog.messages
    assert "compiles" in message
    announcement.silent = False
    assert fresh()(1) == 2
    assert len(caplog.messages) == 1
