"""G, h and (9) against finite differences of the loss itself, and steps that go down."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import Problem, problems, seeds

from phinmf.divergences import DIVERGENCES
from phinmf.linalg.manifold import RETRACTIONS, inner, orthogonality_error
from phinmf.solvers import LBFGS, SOLVERS, QuasiNewton
from phinmf.solvers.base import METRICS
from phinmf.solvers.lbfgs import Pair


def second_derivative(problem, E):
    """⟨E|H|E⟩ of (9), with the full sum over channels and the exact second derivative of f."""
    X, v_hat, eps = problem.Phi @ problem.Y, problem.W @ problem.H + problem.eps, problem.eps
    v = (X**2).mean(axis=0)
    slope = problem.divergence.slope(v, v_hat, eps)
    # d²/dt² f(v(x + tδ)) = slope·mean δ² + (f'' - slope)/v · (mean xδ)², δ = EX
    radial = (problem.divergence.curvature(v, v_hat, eps) - slope) / v
    delta = E @ X
    first = slope * (delta**2).mean(axis=0) + radial * (X * delta).mean(axis=0) ** 2
    G = (slope * X @ X.transpose(0, 2, 1)).mean(axis=0)
    return first.sum() + inner(G, E @ E)  # Σ δ_jk G_il e_ij e_kl = ⟨G|E²⟩


@pytest.mark.parametrize("retraction", sorted(RETRACTIONS))
@given(problem=problems())
def test_slope_along_a_curve(retraction, problem):
    """⟨G|E⟩ at 0, and the retraction's own slope further out, are derivatives of the loss."""
    R, objective, E = RETRACTIONS[retraction], problem.objective, problem.antisymmetric()
    for eta in (0.0, 0.4):
        step = 1e-3 * problem.eps**0.5
        loss = [objective.evaluate(R.point(E, eta + k * step)).loss for k in (-2, -1, 1, 2)]
        numeric = (loss[0] - 8 * loss[1] + 8 * loss[2] - loss[3]) / (12 * step)
        T = R.point(E, eta)
        here = objective.evaluate(T)
        scale = np.linalg.norm(here.G) + abs(here.loss)
        assert R.slope(here.G, E, eta, T) == pytest.approx(numeric, rel=1e-5, abs=1e-6 * scale)


def taylor_error(problem, E, t):
    """What is left of L(exp(tE)Φ) after the second-order terms of (7)."""
    objective = problem.objective
    here = objective.evaluate()
    moved = objective.evaluate(RETRACTIONS["exp"].point(E, t)).loss
    return moved - here.loss - t * inner(here.G, E) - t**2 / 2 * second_derivative(problem, E)


@pytest.mark.parametrize("divergence", sorted(DIVERGENCES))
@pytest.mark.parametrize("C", [1, 2, 3])
def test_taylor_error_is_of_order_three(divergence, C):
    ratios = []
    for seed in range(40):
        problem = Problem(seed, C=C, eps=0.1, divergence=divergence)
        E = problem.antisymmetric()
        ratios.append(taylor_error(problem, E, 4e-3) / taylor_error(problem, E, 2e-3))
    assert np.median(ratios) == pytest.approx(8, rel=0.02)


@given(problem=problems(C=1))
def test_exact_metric_is_the_curvature_of_one_pair(problem):
    objective = problem.objective
    G, c = objective.evaluate().G, objective.curvature()
    E = np.zeros((problem.M, problem.M))
    E[0, 1], E[1, 0] = 1.0, -1.0
    pair = c[0, 1] + c[1, 0] - G[0, 0] - G[1, 1]
    scale = np.abs(c).max() + np.abs(G).max()
    assert pair == pytest.approx(second_derivative(problem, E), rel=1e-9, abs=1e-10 * scale)


@given(problem=problems(), metric=st.sampled_from(sorted(METRICS)))
def test_every_direction_points_downhill(problem, metric):
    objective = problem.objective
    G = objective.evaluate().G
    E = QuasiNewton(metric=metric).direction(objective, G)
    assert np.array_equal(E, -E.T)
    assert inner(G, E) <= 0


def test_the_printed_direction_can_point_uphill():
    """The boxed update (13) is not the minimiser of its model; ours always descends."""
    uphill = 0
    for seed in range(100):
        problem = Problem(seed, M=3, N=2, K=1, eps=1e-6)
        objective = problem.objective
        G = objective.evaluate().G
        uphill += inner(G, QuasiNewton(metric="printed").direction(objective, G)) > 0
        assert inner(G, QuasiNewton().direction(objective, G)) <= 0
    assert uphill > 0


@given(problem=problems(), seed=seeds)
def test_the_direction_of_lbfgs_points_downhill(problem, seed):
    """Whatever the pairs of the memory, as long as each has ⟨s|y⟩ > 0."""
    rng = np.random.default_rng(seed)
    objective = problem.objective
    memory = LBFGS().update(problem.Phi, objective, 3).memory
    G = objective.evaluate().G
    g = memory.vector(G - G.T)
    for _ in range(3):
        s = rng.standard_normal(len(g))
        y = s + 0.3 * rng.standard_normal(len(g))
        if s @ y > 0:
            memory.pairs.append(Pair(s, y, 1 / (s @ y)))
    assert g @ -memory.two_loop(g, memory.metric) <= 1e-12 * (g @ g)


@pytest.mark.parametrize("M", [2, 5, 9])
def test_the_memory_of_lbfgs_grows_with_the_atoms(M, rng):
    solver = LBFGS()
    memory = solver.empty(np.eye(3))
    E, F = (a - a.T for a in rng.standard_normal((2, 3, 3)))
    s, y = memory.vector(E), memory.vector(F)
    memory.pairs.append(Pair(s, y, 1 / (s @ y)))
    grown = solver.grown(memory, 3 + M, np.eye(3 + M))
    assert (memory.M, grown.M) == (3, 3 + M)
    ((s, y, rho),) = grown.pairs
    for e, before in ((s, E), (y, F)):
        assert np.array_equal(grown.matrix(e), np.pad(before, (0, M)))
    assert rho == 1 / (s @ y)


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
    problem = Problem(3, M=12, N=40)
    step = SOLVERS[name]().update(problem.Phi, problem.objective, 100)
    assert orthogonality_error(step.Phi) < 1e-10
