"""Imports go one way: a module may import only from layers below its own, however it does it."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from import_graph import Tree, cycle
from reference import listed

import phinmf

SRC = Path(__file__).parents[1] / "src" / "phinmf"
#: The packages, and the modules beside them, from the bottom up.
LAYERS = [
    {"_types", "once", "warn"},
    {"arrays", "storage"},
    {"linalg"},
    {"checks", "stored_values"},
    {"audio"},
    {"divergences"},
    {"penalties"},
    {"engines", "result"},
    {"solvers"},
    {"inits"},
    {"algorithm"},
    {"tensors"},
    {"fit"},
    {"api", "transform_api"},
    {"estimator"},
    {"analysis"},
    {"unmixing"},
    {"scores"},
    {"report"},
    {"unmixed"},
    {"unmix_api"},
    {"studio"},
    {"cli"},
    {"__main__"},
    {"__init__"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

#: Modules outside `tensors` that import PyTorch, each in a function that needs it.
USE_TORCH = {
    "arrays.portable",
    "arrays.precision",
    "cli.env",
    "engines.remote.devices",
    "fit.devices",
}
#: Packages that need PyTorch, and are imported where tensors are.
OF_TENSORS = ("tensors.", "engines.device.")


@pytest.fixture(scope="module")
def tree():
    return Tree(SRC)


def short(module):
    return module.removeprefix("phinmf.")


def package(module):
    return "__init__" if module == "phinmf" else module.split(".")[1]


def points_upwards(use):
    source, target = package(use.source), package(use.target)
    return RANK[target] >= RANK[source] and source != target


def cycle_of(uses, name):
    """Return a cycle of imports within a package."""
    inside = {(u.source, u.target) for u in uses if package(u.source) == package(u.target) == name}
    return cycle(inside)


def test_imports_point_downwards(tree):
    upwards = [use for use in tree.imports if points_upwards(use)]
    shown = [f"{tree.files[u.source].relative_to(SRC)}:{u.line} {short(u.target)}" for u in upwards]
    assert shown == [], "imports from a layer that is not below"


@pytest.mark.parametrize("name", sorted(RANK))
def test_imports_within_a_package_have_no_cycle(tree, name):
    assert cycle_of(tree.imports, name) == []


def test_modules_imported_by_name_are_named_in_the_source(tree):
    """Except in `lazy.extra`, which imports another library that may be missing."""
    assert {short(name) for name in tree.unreadable} == {"arrays.lazy"}


def test_every_module_has_a_layer_and_none_is_called_utils():
    names = {p.stem if p.is_file() else p.name for p in SRC.iterdir() if p.suffix in ("", ".py")}
    assert names - {"__pycache__"} == set(RANK)
    assert not {"utils", "helpers", "misc"} & {p.stem for p in SRC.rglob("*.py")}


def test_only_packages_of_tensors_and_few_other_modules_import_torch(tree):
    def uses_torch(module):
        return any({"torch", "triton"} & set(n.split(".")) for n in tree.libraries(module))

    users = {short(module) for module in tree.files if uses_torch(module)}
    assert {name for name in users if not name.startswith(OF_TENSORS)} == USE_TORCH


def of_tensors(module):
    """Whether a module needs PyTorch to be imported."""
    return short(module).startswith(OF_TENSORS) and short(module) != "engines.device.memory"


def test_nothing_imports_tensors_before_they_are_needed(tree):
    uses = [u for u in tree.imports if of_tensors(u.target) and not of_tensors(u.source)]
    assert {package(use.target) for use in uses} == {"tensors", "engines"}
    assert all(use.late for use in uses)


def test_every_library_that_is_imported_is_declared(tree):
    project = tomllib.loads((SRC.parents[1] / "pyproject.toml").read_text())["project"]
    extras = [
        text
        for name in ("gpu", "dask", "studio")
        for text in project["optional-dependencies"][name]
    ]
    declared = {re.match(r"[\w-]+", text)[0] for text in [*project["dependencies"], *extras]}
    called = {"sklearn": "scikit-learn", "PIL": "pillow", "array_api_compat": "array-api-compat"}
    with_others = {"distributed": "dask", "triton": "torch"}
    used = {name.split(".")[0] for module in tree.files for name in tree.libraries(module)}
    used |= {"dask"}  # imported by lazy.extra
    others = used - set(sys.stdlib_module_names) - {"phinmf"}
    assert {(called | with_others).get(name, name) for name in others} == declared


def loaded_after(code, *libraries):
    """Return which libraries a new process has loaded after running some code."""
    code = f"import sys\n{code}\nprint([m for m in {libraries} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_phinmf_loads_nothing_slow():
    slow = ("numba", "matplotlib", "torch", "soundfile", "dask", "scipy.signal", "phinmf.report")
    assert loaded_after("import phinmf; dir(phinmf)", *slow) == "[]"


def test_modules_of_the_reference_are_attributes_and_nothing_else_is_completed():
    modules = {name.rpartition(".")[0] for name in listed()}
    code = "\n".join(["import phinmf", *sorted(modules), "print(dir(phinmf))"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages = {name.split(".")[1] for name in modules - {"phinmf"}}
    assert set(ast.literal_eval(done.stdout)) == packages | set(phinmf.__all__)
    with pytest.raises(AttributeError, match="'phinmf' has no attribute 'report_'"):
        _ = phinmf.report_


def test_fits_of_numpy_arrays_load_neither_torch_nor_dask():
    code = """
import numpy, phinmf
X = numpy.random.default_rng(0).standard_normal((40, 8))
phinmf.tl_nmf(X.T, 2, max_iter=2, tol=0)
phinmf.TLNMF(2, max_iter=2, tol=0).fit(X).transform(X)
"""
    assert loaded_after(code, "torch", "triton", "dask", "distributed", "matplotlib") == "[]"


WAYS = {
    "from": "from house.top.roof import tile",
    "module from package": "from house.top import roof",
    "package": "from house import top",
    "public name": "from house import tile",
    "import": "import house.top.roof",
    "import as": "import house.top.roof as r\nr.tile",
    "attribute": "import house\nhouse.tile()",
    "attribute of an alias": "import house as h\nh.top.roof.tile()",
    "in a function": "def f():\n    from house.top.roof import tile",
    "for a type checker": "if TYPE_CHECKING:\n    from house.top.roof import tile",
    "relative": "from ..top import roof",
    "importlib": "importlib.import_module('house.top.roof')",
    "its function": "import_module('house.top.roof')",
    "f-string": "importlib.import_module(f'house.top.{name}')",
    "f-string of the root": "importlib.import_module(f'house.{name}')",
    "__import__": "__import__('house.top.roof')",
    "a table": "TABLE = {'roof': 'house.top.roof'}",
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_import_is_found(tmp_path, way):
    root = tmp_path / "house"
    for name in ("top", "bottom"):
        (root / name).mkdir(parents=True)
        (root / name / "__init__.py").touch()
    (root / "__init__.py").write_text("from house.top.roof import tile")
    (root / "top" / "roof.py").write_text("tile = print")
    (root / "bottom" / "cellar.py").write_text(WAYS[way])
    found = [u for u in Tree(root).imports if u.source == "house.bottom.cellar"]
    assert any(use.target.startswith("house.top") for use in found)
    assert all(use.late == (way in ("in a function", "for a type checker")) for use in found)


NO_IMPORTS = [
    "import houses.top", "'''house.top.roof'''", "x = 'house'", "x = f'house {y}'",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_IMPORTS)
def test_other_texts_are_not_taken_for_imports(tmp_path, text):
    root = tmp_path / "house"
    (root / "top").mkdir(parents=True)
    for name in ("__init__", "top/__init__", "top/roof"):
        (root / f"{name}.py").touch()
    (root / "cellar.py").write_text(text)
    assert Tree(root).imports == []


def test_data_files_of_the_own_package_are_no_import(tmp_path):
    root = tmp_path / "house"
    (root / "top").mkdir(parents=True)
    for name in ("__init__", "top/__init__"):
        (root / f"{name}.py").touch()
    text = "files('house.top').joinpath('data.txt')"
    (root / "top" / "roof.py").write_text(text)
    (root / "cellar.py").write_text(text)
    assert [use.source for use in Tree(root).imports] == ["house.cellar"]


def test_cycles_are_found():
    edges = {("a", "b"), ("b", "c"), ("c", "d"), ("d", "b"), ("d", "e")}
    assert cycle(edges) == ["b", "c", "d", "b"]
    assert cycle(edges - {("d", "b")}) == []
