"""Add a class of docs/extending.md to each registry: the contracts hold without a new test."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
import test_contracts as contracts
from problems import notes
from tensor_problems import KINDS

import phinmf
from phinmf.divergences import DIVERGENCES
from phinmf.engines import ENGINES
from phinmf.inits import INITS
from phinmf.solvers import SOLVERS

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"


def classes():
    """The classes that the blocks of the page define; nothing else of the blocks runs."""
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.S | re.M):
        tree = ast.parse(block)
        definitions = (ast.Import, ast.ImportFrom, ast.ClassDef)
        tree.body = [node for node in tree.body if isinstance(node, definitions)]
        exec(compile(tree, PAGE, "exec"), names)
    return [names[name] for name in ("Student", "Samples", "Gradient", "Counting")]


Student, Samples, Gradient, Counting = classes()
HOW = {"n_components": 3, "max_iter": 4, "tol": 0, "random_state": 0}


def test_a_divergence(monkeypatch):
    monkeypatch.setitem(DIVERGENCES, "toy", Student())
    by_name = phinmf.tl_nmf(notes(), divergence="toy", **HOW)
    assert by_name.objective == phinmf.tl_nmf(notes(), divergence=Student(), **HOW).objective
    for eps in (1e-4, 1e-1):
        contracts.test_divergence_contract("toy", eps)
    for engine in ("array", "array on tensors")[: len(KINDS)]:
        contracts.test_fit("lbfgs", "toy", engine, np.float64, False)
        contracts.test_engine_contract(engine, "toy", 3, 6, 17, False, False)
    for name in ("compiled", "dask"):
        assert not ENGINES[name].supports(DIVERGENCES["toy"])


def test_an_init(monkeypatch):
    monkeypatch.setitem(INITS, "toy", Samples)
    how = HOW | {"method": phinmf.Method(anneal=phinmf.Anneal(coarse=0))}  # as from an array
    by_name = phinmf.tl_nmf(notes(), init="toy", **how)
    assert np.array_equal(by_name.Phi, phinmf.tl_nmf(notes(), init=np.eye(32), **how).Phi)
    for dtype in (np.float32, np.float64):
        contracts.test_init_contract("toy", dtype, 3, 7, 2500)
    contracts.test_every_public_function_starts_from_an_init("toy")


@pytest.mark.full
def test_a_solver(monkeypatch):
    monkeypatch.setitem(SOLVERS, "toy", Gradient)
    by_name = phinmf.tl_nmf(notes(), solver="toy", **HOW)
    assert by_name.objective == phinmf.tl_nmf(notes(), solver=Gradient(), **HOW).objective
    assert by_name.objective < phinmf.tl_nmf(notes(), solver=None, **HOW).objective
    for engine in ("compiled", "array", "array on tensors")[: 1 + len(KINDS)]:
        contracts.test_solver_contract("toy", 8, engine)
        contracts.test_a_solver_that_cannot_descend_says_so("toy", engine)
        contracts.test_fit("toy", "itakura-saito", engine, np.float64, False)


@pytest.mark.full
def test_an_engine(monkeypatch):
    monkeypatch.setitem(ENGINES, "toy", Counting)
    monkeypatch.setattr(Counting, "rotations", 0)
    by_name = phinmf.tl_nmf(notes(), engine="toy", **HOW)
    assert Counting.rotations > 0
    assert by_name.objective == phinmf.tl_nmf(notes(), engine="array", **HOW).objective
    for engine in ("toy", "toy on tensors"):
        for divergence in DIVERGENCES:
            contracts.test_engine_contract(engine, divergence, 3, 6, 17, True, True)
            contracts.test_fit("quasi-newton", divergence, engine, np.float64, False)
        contracts.test_solver_contract("lbfgs", 8, engine)
