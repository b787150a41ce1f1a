"""The penalty of sparse activations: the numbers that the NMF steps have."""

import numpy as np
import pytest
from problems import Problem
from tensor_problems import host, tensor

from phinmf.algorithm.model import Model
from phinmf.algorithm.nmf import flat_activations, nmf_step, normalise
from phinmf.linalg.multiplicative import multiply
from phinmf.penalties import Sparse


@pytest.mark.parametrize("mu", [0.0, 0.7, 150.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("engine", ["array", "array on tensors"])
def test_the_numbers_are_those_of_the_steps_to_the_bit(mu, dtype, engine):
    p, sparse = Problem(0, C=2, dtype=dtype, engine=engine), Sparse(mu)
    W = p.give(p.W)
    assert sparse.cost(W, p.engine.activation_sums()) == Model(p.engine, sparse).penalty_of(W)
    powers = p.engine.powers()
    level = host(sparse.flat_level(powers)) * (p.M / p.K)
    flat = host(flat_activations(powers, p.M, p.K, sparse))
    assert np.array_equal(np.tile(level, (p.K, 1)), flat)
    sums = p.engine.nmf_pass(W, sparse, p.eps, 1.0)
    pressure = sparse.on_dictionary(sums.activation)[..., None, :]
    by_hand, _ = normalise(multiply(W, sums.numerator, sums.denominator + pressure, 1.0))
    p.engine.set_activations(p.give(p.H))
    assert np.array_equal(host(nmf_step(p.engine, W, sparse, p.eps, 1.0)), host(by_hand))


def test_a_batch_is_each_by_itself(rng):
    sparse, H, activation = Sparse(0.3), rng.random((4, 3, 7)), rng.random((4, 3))
    assert sparse.on_activations(H) == 0.3
    for give in (np.asarray, tensor):
        costs = host(sparse.frame_costs(give(H)))
        on_W = host(sparse.on_dictionary(give(activation)))
        for b in range(4):
            np.testing.assert_allclose(costs[b], sparse.frame_costs(H[b]), rtol=1e-14)
            assert np.array_equal(on_W[b], sparse.on_dictionary(activation[b]))


def test_it_checks_itself_and_prints_itself():
    assert repr(Sparse(np.float32(0.5))) == "Sparse(weight=0.5)"
    assert Sparse(1) == Sparse(1.0) != Sparse(2.0)
    assert Sparse.compiled
    for bad in (-1, np.nan, np.inf, "much", None):
        with pytest.raises(ValueError, match="sparsity is .*, but a finite number ≥ 0 is needed"):
            Sparse(bad)
