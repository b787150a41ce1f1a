"""The objective never rises, whatever the data, the exponent and the sparsity."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import problems

from phinmf.algorithm.nmf import nmf_step
from phinmf.divergences import Penalty
from phinmf.linalg.manifold import orthogonality_error
from phinmf.solvers import SOLVERS


@given(
    problem=problems(),
    gamma=st.sampled_from([0.5, 1.0]),
    mu=st.sampled_from([0.0, 0.3, 10.0, 1e4]),
    silent=st.booleans(),
    dead=st.booleans(),
)
def test_an_nmf_step_never_raises_the_cost(problem, gamma, mu, silent, dead):
    engine, W, H = problem.engine, problem.W.copy(), problem.H.copy()
    if silent:
        problem.Y[:, :, 0] = 0
        H[:, -1] = 0
    if dead:
        W[:, 0] = 0
        H[-1] = 0
    engine.rotate(problem.Phi)
    engine.set_activations(H)
    before = problem.cost(W, mu)
    for _ in range(4):
        W = nmf_step(engine, W, Penalty(mu), problem.eps, gamma)
        after = problem.cost(W, mu)
        assert np.isfinite(after)
        assert after <= before + 1e-12 * max(abs(before), problem.Y.size)
        before = after
    alive = W.any(axis=0)
    assert np.allclose(W[:, alive].sum(axis=0), 1)


@pytest.mark.full
@pytest.mark.parametrize("name", sorted(SOLVERS))
@given(problem=problems())
def test_a_transform_step_never_raises_the_loss(name, problem):
    solver, objective, memory = SOLVERS[name](), problem.objective, None
    before = objective.evaluate().loss
    Phi = problem.Phi
    for _ in range(3):
        step = solver.update(Phi, objective, 2, memory)
        Phi, memory = step.Phi, step.memory
        assert step.loss <= before + 1e-12 * max(abs(before), problem.Y.size)
        before = step.loss
    problem.engine.rotate(Phi)
    assert objective.evaluate().loss == pytest.approx(before, rel=1e-9, abs=1e-9 * problem.Y.size)


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_a_hundred_steps_stay_orthogonal(name):
    from problems import Problem

    problem = Problem(3, M=12, N=40)
    step = SOLVERS[name]().update(problem.Phi, problem.objective, 100)
    assert orthogonality_error(step.Phi) < 1e-10
