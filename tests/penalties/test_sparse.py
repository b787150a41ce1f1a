"""The penalty of sparse activations: the numbers that the NMF steps have."""

import numpy as np
import pytest
from problems import Problem
from tensor_problems import host

from phinmf.algorithm.model import Model
from phinmf.algorithm.nmf import flat_activations, nmf_step, normalise
from phinmf.linalg.multiplicative import multiply
from phinmf.penalties import Sparse, is_linear


@pytest.mark.parametrize("mu", [0.0, 0.7, 150.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("engine", ["array", "array on tensors"])
def test_the_numbers_are_those_of_the_steps(mu, dtype, engine):
    p, sparse = Problem(0, C=2, dtype=dtype, engine=engine), Sparse(mu)
    W = p.give(p.W)
    total = mu * float(p.H.astype(float).sum(axis=1) @ p.W.astype(float).sum(axis=0))
    assert Model(p.engine, sparse).penalty_of(W) == pytest.approx(total, rel=1e-14)
    powers = p.engine.powers()
    level = host(sparse.flat_level(powers)) * (p.M / p.K)
    flat = host(flat_activations(powers, p.M, p.K, sparse))
    assert np.array_equal(np.tile(level, (p.K, 1)), flat)
    sums = p.engine.nmf_pass(W, sparse, p.eps, 1.0)
    pressure = mu * sums.activation
    by_hand, _ = normalise(multiply(W, sums.numerator, sums.denominator + pressure, 1.0))
    p.engine.set_activations(p.give(p.H))
    found = nmf_step(p.engine, W, sparse, p.eps, 1.0)
    assert np.array_equal(host(found), host(by_hand))


def test_it_checks_itself_and_prints_itself():
    assert repr(Sparse(np.float32(0.5))) == "Sparse(weight=0.5)"
    assert Sparse(1) == Sparse(1.0) != Sparse(2.0)
    assert is_linear(Sparse(1))
    for bad in (-1, np.nan, np.inf, "much", None):
        with pytest.raises(ValueError, match="sparsity is .*, but a finite number ≥ 0 is needed"):
            Sparse(bad)
