"""The fast engine against the readable one, and the same bits whatever the threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import SUPPORTED, Problem, seeds

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
