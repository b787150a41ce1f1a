"""Imports go one way: a module may import only from layers below its own."""

import ast
import subprocess
import sys
from pathlib import Path

SRC = Path(__file__).parents[1] / "src" / "phinmf"
LAYERS = [
    {"_types"},
    {"arrays"},
    {"result", "linalg"},
    {"checks", "divergences"},
    {"engines"},
    {"solvers"},
    {"algorithm"},
    {"tensors"},
    {"fit"},
    {"api"},
    {"estimator"},
    {"analysis"},
    {"audio"},
    {"unmixing"},
    {"scores"},
    {"report"},
    {"unmix_api"},
    {"cli"},
    {"__main__"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def test_imports_point_downwards():
    for path in SRC.rglob("*.py"):
        name = path.relative_to(SRC).parts[0].removesuffix(".py")
        if name == "__init__":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("phinmf")):
                continue
            parts = node.module.split(".")[1:]
            for target in parts[:1] or [alias.name for alias in node.names]:
                below = RANK[target] < RANK[name] or target == name
                assert below, f"{path.relative_to(SRC)} imports {target}, which is not below it"


def test_no_module_is_unplaced_and_none_is_a_drawer():
    names = {p.stem if p.is_file() else p.name for p in SRC.iterdir() if p.suffix in ("", ".py")}
    assert names - {"__init__", "__pycache__"} == set(RANK)
    assert not {"utils", "helpers", "misc"} & names


def test_importing_phinmf_loads_nothing_slow():
    slow = ("numba", "matplotlib", "torch", "soundfile", "dask")
    code = f"import sys, phinmf; print([m for m in {slow} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
