"""Add a class of docs/extending.md to each registry: the contracts hold without a new test."""

import inspect
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import test_contracts as contracts
from problems import notes
from tensor_problems import KINDS

import phinmf
from phinmf.arrays import namespace
from phinmf.divergences import DIVERGENCES
from phinmf.engines import ENGINES
from phinmf.engines.array import ArrayEngine
from phinmf.inits import INITS, Init
from phinmf.linalg.line_search import Origin, backtracking
from phinmf.linalg.manifold import RETRACTIONS, inner, skew
from phinmf.solvers import SOLVERS, Descent, Solver
from phinmf.solvers.base import curve, within_reach

HOW = {"n_components": 3, "max_iter": 4, "tol": 0, "random_state": 0}


@dataclass(frozen=True)
class Student(phinmf.Divergence):
    """The likelihood of a t-distribution: unlike a Gaussian one, it forgives single peaks."""

    freedom: float = 4.0

    def value(self, v, v_hat, eps):
        log, n = namespace(v_hat).log, self.freedom
        return log(v_hat) + (n + 1) * log(1 + (v + eps) / (n * v_hat))

    def slope(self, v, v_hat, eps):
        return 2 * (self.freedom + 1) / (self.freedom * v_hat + v + eps)

    def curvature(self, v, v_hat, eps):
        slope = self.slope(v, v_hat, eps)
        return slope - v * slope**2 / (self.freedom + 1)

    def bound(self, v, v_hat, eps):
        return self.slope(v, v_hat, eps)

    def nmf_split(self, v, v_hat, eps):
        n = self.freedom
        return n / v_hat + 0 * v, n * (n + 1) / (n * v_hat + v + eps)


def test_a_divergence(monkeypatch):
    monkeypatch.setitem(DIVERGENCES, "toy", Student())
    by_name = phinmf.tl_nmf(notes(), divergence="toy", **HOW)
    assert by_name.objective == phinmf.tl_nmf(notes(), divergence=Student(), **HOW).objective
    for eps in (1e-4, 1e-1):
        contracts.test_divergence_contract("toy", eps)
    for engine in ("array", "array on tensors")[: len(KINDS)]:
        contracts.test_fit("lbfgs", "toy", engine, np.float64)
        contracts.test_engine_contract(engine, "toy", 3, 6, 17)
    contracts.test_nmf_steps_with_a_penalty_never_raise_the_objective(1.0, "toy")
    for name in ("compiled", "dask"):
        assert not ENGINES[name].supports(DIVERGENCES["toy"])


@dataclass(frozen=True)
class Samples(Init):
    """Start from the samples themselves: Φ = I."""

    def start(self, frames, rng, dtype):
        return np.eye(frames.M, dtype=dtype)


def test_an_init(monkeypatch):
    monkeypatch.setitem(INITS, "toy", Samples)
    how = HOW | {
        "method": phinmf.Method(anneal=phinmf.Anneal(coarse=0))
    }  # as a run from a given transform
    by_name = phinmf.tl_nmf(notes(), init="toy", **how)
    assert np.array_equal(by_name.Phi, phinmf.tl_nmf(notes(), init=np.eye(32), **how).Phi)
    for dtype in (np.float32, np.float64):
        contracts.test_init_contract("toy", dtype, 3, 7, 2500)
    contracts.test_every_public_function_starts_from_an_init("toy")


@dataclass(frozen=True)
class Gradient(Solver):
    """Steps along the geodesic of steepest descent."""

    def update(self, Phi, objective, n_iter, memory=None):
        state = Descent.start(Phi, objective)
        while state.goes_on(objective, n_iter):
            E = within_reach(-skew(state.G))
            trial = curve(objective, E, RETRACTIONS["exp"])
            best = backtracking(trial, Origin(state.loss, inner(state.G, E)), 1.0)
            if best is None:
                state.failed = True
                break
            state.accept(objective, best)
        return state


@pytest.mark.full
def test_a_solver(monkeypatch):
    monkeypatch.setitem(SOLVERS, "toy", Gradient)
    by_name = phinmf.tl_nmf(notes(), solver="toy", **HOW)
    assert by_name.objective == phinmf.tl_nmf(notes(), solver=Gradient(), **HOW).objective
    assert by_name.objective < phinmf.tl_nmf(notes(), solver=None, **HOW).objective
    for engine in ("compiled", "array", "array on tensors")[: 1 + len(KINDS)]:
        contracts.test_solver_contract("toy", 8, engine)
        contracts.test_a_solver_that_cannot_descend_says_so("toy", engine)
        contracts.test_fit("toy", "itakura-saito", engine, np.float64)


class Counting(ArrayEngine):
    """The readable engine, which counts how often the transform is applied afresh."""

    rotations = 0

    def rotate(self, Phi):
        Counting.rotations += 1
        super().rotate(Phi)


@pytest.mark.full
def test_an_engine(monkeypatch):
    monkeypatch.setitem(ENGINES, "toy", Counting)
    monkeypatch.setattr(Counting, "rotations", 0)
    by_name = phinmf.tl_nmf(notes(), engine="toy", **HOW)
    assert Counting.rotations > 0
    assert by_name.objective == phinmf.tl_nmf(notes(), engine="array", **HOW).objective
    for engine in ("toy", "toy on tensors"):
        for divergence in DIVERGENCES:
            contracts.test_engine_contract(engine, divergence, 3, 6, 17)
            contracts.test_fit("quasi-newton", divergence, engine, np.float64)
        contracts.test_solver_contract("lbfgs", 8, engine)


@pytest.mark.parametrize(
    ("argument", "registry"),
    [
        ("solver", SOLVERS),
        ("init", INITS),
        ("divergence", DIVERGENCES),
        ("engine", ENGINES),
    ],
)
def test_a_new_name_is_listed_where_a_wrong_one_is_refused(argument, registry, monkeypatch):
    monkeypatch.setitem(registry, "toy", None)
    with pytest.raises(ValueError, match=f"{argument} is 'other', which is not known.*'toy'"):
        phinmf.tl_nmf(notes(), **HOW | {argument: "other"})


@pytest.mark.parametrize("kind", [Student, Samples, Gradient, Counting])
def test_the_page_shows_the_same_code(kind):
    page = Path(__file__).parents[1] / "docs" / "extending.md"
    assert inspect.getsource(kind) in page.read_text()
