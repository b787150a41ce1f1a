"""Imports go one way: a module may import only from layers below its own."""

import ast
import importlib
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path
from typing import get_origin

import pytest
from reference import PUBLIC, listed

import phinmf

SRC = Path(__file__).parents[1] / "src" / "phinmf"
#: The packages, and the modules beside them, from the bottom up.
LAYERS = [
    {"_types", "errors", "warn"},
    {"arrays", "storage"},
    {"linalg"},
    {"checks", "entries"},
    {"audio"},
    {"divergences"},
    {"engines", "result"},
    {"solvers"},
    {"inits"},
    {"algorithm"},
    {"fit"},
    {"api"},
    {"estimator"},
    {"analysis"},
    {"unmixing"},
    {"report"},
    {"unmix_file"},
    {"unmix_api"},
    {"studio"},
    {"cli"},
    {"__main__"},
    {"__init__"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def dotted(path):
    """The name of a module; a package is its ``__init__.py``."""
    parts = path.relative_to(SRC.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {dotted(path): ast.parse(path.read_text("utf-8")) for path in SRC.rglob("*.py")}


def imports(tree):
    """Yield the names of all modules that a module imports, in functions, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in MODULES else node.module


def own(tree):
    """The modules of phinmf that a module imports."""
    return {name for name in imports(tree) if name.partition(".")[0] == "phinmf"}


def package(module):
    return "__init__" if module == "phinmf" else module.split(".")[1]


def test_imports_point_downwards():
    upwards = [
        f"{source}: {target}"
        for source, tree in MODULES.items()
        for target in own(tree) - {"phinmf"}  # its version
        if package(source) != package(target) and RANK[package(target)] >= RANK[package(source)]
    ]
    assert upwards == []


def test_imports_have_no_cycle():
    graph = {source: own(tree) - {"phinmf", source} for source, tree in MODULES.items()}
    list(TopologicalSorter(graph).static_order())  # raises CycleError


def test_every_package_has_a_layer():
    assert {package(module) for module in MODULES} == set(RANK)


FIT = """
import numpy, phinmf
X = numpy.random.default_rng(0).standard_normal((40, 8))
phinmf.tl_nmf(X.T, 2, max_iter=2, tol=0)
phinmf.TLNMF(2, max_iter=2, tol=0).fit(X).transform(X)
"""
HELP = """
import contextlib, io
from phinmf.cli import main
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    main(["unmix", "--help"])
"""
SLOW = ["torch", "dask", "distributed", "matplotlib", "soundfile", "phinmf.report"]


@pytest.mark.parametrize(
    ("code", "slow"),
    [
        ("import phinmf; dir(phinmf)", [*SLOW, "numba", "scipy.signal"]),
        (FIT, SLOW),
        (HELP, [*SLOW, "numba"]),
    ],
    ids=["import", "fit", "help"],
)
def test_nothing_slow_is_loaded_before_it_is_needed(code, slow):
    code = f"import sys\n{code}\nprint([m for m in {slow} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_modules_of_the_reference_are_attributes_and_nothing_else_is_completed():
    modules = {name.rpartition(".")[0] for name in listed()}
    code = "\n".join(["import phinmf", *sorted(modules), "print(dir(phinmf))"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages = {name.split(".")[1] for name in modules - {"phinmf"}}
    assert set(ast.literal_eval(done.stdout)) == packages | set(phinmf.__all__)
    with pytest.raises(AttributeError, match="'phinmf' has no attribute 'report_'"):
        _ = phinmf.report_


def test_the_reference_lists_every_public_name():
    documented = {id(value) for value in listed().values()}
    for module in PUBLIC:
        for name in importlib.import_module(module).__all__:
            value = getattr(importlib.import_module(module), name)
            if name != "__version__" and get_origin(value) is None:  # no alias of types
                assert id(value) in documented, f"{module}.{name}"
