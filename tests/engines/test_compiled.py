"""The fast engine against the readable one, and the same bits whatever the threads."""

import numba
import numpy as np
import pytest
from clusters import engines_here
from hypothesis import given
from hypothesis import strategies as st
from problems import SUPPORTED, Problem, divergence_named, notes, seeds

from phinmf import tl_nmf
from phinmf.divergences import Penalty
from phinmf.engines import sums
from phinmf.engines.compiled.compiling import announcement, compiled
from phinmf.linalg.manifold import random_orthogonal
from phinmf.solvers import SOLVERS

#: one of each family that has kernels
COMPILED = sorted({d for d, engine in SUPPORTED if engine == "compiled"} | {"beta 0.5", "beta 0"})


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
    divergence=st.sampled_from(COMPILED),
    dtype=st.sampled_from([np.float32, np.float64]),
    weighted=st.booleans(),
)
def test_compiled_is_array(dtype, **how):
    tolerance = 1e-10 if dtype == np.float64 else 1e-4
    (slow, a), (fast, b) = both(dtype, **how)
    T = random_orthogonal(how["M"], slow.rng, dtype)
    for matrix in (None, T):
        one, other = a.evaluate(matrix), b.evaluate(matrix)
        assert abs(one.loss - other.loss) <= tolerance * (abs(one.loss) + slow.Y[0].size)
        assert close(one.G, other.G, tolerance)
    assert close(a.bound(), b.bound(), tolerance)
    assert close(a.curvature(), b.curvature(), tolerance)
    assert b.loss() == pytest.approx(a.loss(), rel=tolerance, abs=tolerance * slow.Y[0].size)
    W = slow.W * np.arange(1, how["K"] + 1, dtype=dtype)  # columns of any sum
    one, other = (p.engine.nmf_pass(W, Penalty(0.3), p.eps, 1.0) for p in (slow, fast))
    assert close(slow.engine.activations(), fast.engine.activations(), tolerance)
    for x, y in zip(one, other, strict=True):
        assert close(x, y, tolerance)


@pytest.mark.parametrize("divergence", COMPILED)
@pytest.mark.parametrize("K", [3, 4])
@pytest.mark.parametrize(("tol", "max_updates"), [(1e-3, 20), (0, 0), (0, 3), (0, 7), (0, 20)])
def test_frames_converge_alike_in_at_most_a_number_of_updates(divergence, K, tol, max_updates):
    """Also if it is no multiple of the updates between two looks at the cost."""
    how = {"seed": 1, "M": 6, "N": 40, "K": K, "C": 2, "divergence": divergence}
    problems = [p for p, _ in both(np.float64, **how)]
    start = problems[0].H * (np.arange(40) % (np.arange(K)[:, None] + 2) > 0)
    for p in problems:
        p.engine.set_activations(start)
        p.engine.converge_activations(p.W, Penalty(0.3), p.eps, tol, max_updates)
    readable, fast = (p.engine.activations() for p in problems)
    assert np.allclose(readable, start) == (max_updates == 0)
    assert np.array_equal(fast == 0, start == 0)
    assert np.array_equal(readable == 0, start == 0)
    assert close(readable, fast, 1e-10)
    if tol == 0:
        once = Problem(**how)
        once.engine.set_activations(start)
        for _ in range(max_updates):
            once.engine.nmf_pass(once.W, Penalty(0.3), once.eps, 1.0)
        assert close(once.engine.activations(), readable, 1e-10)


@pytest.mark.parametrize("divergence", ["itakura-saito", "gaussian"])
def test_logarithms_are_taken_one_by_one_if_a_product_overflows(divergence):
    """A model 200 orders of magnitude off: eight ratios multiply to more than a double holds."""
    (slow, _), (fast, _) = both(np.float64, seed=0, eps=0.0, N=40, divergence=divergence)
    for problem in (slow, fast):
        problem.engine.set_activations(problem.H * 1e-200)
    expected = slow.objective.evaluate().loss
    assert np.isfinite(expected)
    assert fast.objective.evaluate().loss == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_readable_sums_keep_the_precision_and_losses_are_double(dtype, rng):
    d, weights, eps = divergence_named("itakura-saito"), rng.random(40), 1e-2
    X, W, H = (rng.random(s).astype(dtype) for s in ((2, 5, 40), (5, 2), (2, 40)))
    V, v_hat = sums.power(X), W @ H + eps
    f_prime = sums.slopes(d, X, V, v_hat, eps, weights)
    losses = sums.frame_losses(d, V, v_hat, eps), sums.loss(d, V, v_hat, eps, weights)
    arrays = (
        V, f_prime, sums.gradient(f_prime, X),
        sums.curvature(d.bound(V, v_hat, eps), V, weights),
        sums.updated_activations(d, V, W, H, 0.7, eps, 0.5),
        *sums.dictionary_sums(d, V, W, H, eps, weights),
    )  # fmt: skip
    assert all(a.dtype == np.float64 for a in losses)
    assert all(a.dtype == dtype for a in arrays)


@pytest.mark.parametrize("name", [n for n, kind in SOLVERS.items() if kind.needs_pair_losses])
def test_a_solver_that_needs_losses_of_pairs_gets_an_engine_that_has_them(name):
    how = {"n_components": 2, "max_iter": 1, "tol": 0, "random_state": 0, "solver": name}
    readable = tl_nmf(notes(), engine="array", **how)
    assert np.array_equal(tl_nmf(notes(), **how).Phi, readable.Phi)
    for engine in [n for n, kind in engines_here().items() if not kind.pair_losses]:
        with pytest.raises(ValueError, match="use engine='array'"):
            tl_nmf(notes(), engine=engine, **how)


def test_the_first_compilation_is_announced_once(monkeypatch, caplog, tmp_path):
    """Not what comes from the disk."""

    def fresh():
        def plus_one(x):
            return x + 1

        plus_one.__module__ = "phinmf.example"
        return compiled(plus_one)

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(announcement, "silent", False)
    function = fresh()
    assert (function(1), function(1.0)) == (2, 2.0)
    (message,) = caplog.messages
    assert "compiles" in message
    announcement.silent = False
    assert fresh()(1) == 2
    assert len(caplog.messages) == 1
