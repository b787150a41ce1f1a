"""The benchmark in benchopt's form, without benchopt: it calls what benchopt calls."""

import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import numpy as np
import pytest
from scipy.special import kl_div

FOLDER = Path(__file__).parents[2] / "benchmarks" / "benchopt"


class Part:
    """A base class of benchopt: each parameter is an attribute, by default its first value."""

    parameters: ClassVar = {}

    def __init__(self, **parameters):
        vars(self).update({name: values[0] for name, values in self.parameters.items()})
        vars(self).update(parameters)


@pytest.fixture
def load(monkeypatch):
    module = ModuleType("benchopt")
    module.BaseObjective = module.BaseDataset = module.BaseSolver = Part
    monkeypatch.setitem(sys.modules, "benchopt", module)
    return lambda file, name: runpy.run_path(str(FOLDER / file))[name]


@pytest.mark.parametrize("pairs", [False, True])
def test_all_solvers_start_alike_and_descend_the_objective_that_they_report(load, pairs):
    Dataset, Solver = load("datasets/synthetic.py", "Dataset"), load("solvers/tl_nmf.py", "Solver")
    data = Dataset(**{name: values[0] for name, values in Dataset.test_parameters.items()})
    objective = load("objective.py", "Objective")(pairs=pairs)
    objective.set_data(**data.get_data())
    start = objective.evaluate_result(**objective.get_one_result())["value"]
    for setting in Solver.parameters["setting"]:
        solver = Solver(setting=setting)
        solver.set_objective(**objective.get_objective())
        values = []
        for n_iter in (0, 6):
            solver.run(n_iter)
            values.append(objective.evaluate_result(**solver.get_result())["value"])
            assert values[-1] == pytest.approx(solver.result.objective / objective.Y.size)
        assert values[0] == pytest.approx(start)
        assert values[1] < start


def test_the_solver_for_the_public_benchmark_descends_its_objective(load, rng):
    X = rng.random((12, 3)) @ rng.random((3, 20))
    X[0, 0] = 0
    solver, values = load("benchmark_nmf_kl.py", "Solver")(), []
    solver.set_objective(X, 3, [rng.random((12, 3)), rng.random((3, 20))])
    for n_iter in (0, 5, 50):
        solver.run(n_iter)
        result = solver.get_result()
        values.append(kl_div(X, result["W"] @ result["H"]).sum())
    assert np.all(np.diff(values) < 0)
