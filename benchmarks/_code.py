"""Which code a result was measured with: a hash of the modules that decide its numbers.

`write_csv` puts the hash of each part of the code that a script measures into the first line of a
result, and `older` compares it with the code of today. Comments, docstrings, type annotations and
the sentences of errors do not count.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "phinmf"
RESULTS = ROOT / "benchmarks" / "results"
#: Results that are older than the code, one name a line: the tables made of them say so.
OLDER = ROOT / "benchmarks" / "older.txt"

#: Files and folders of the package that decide the numbers of a kind of result.
PARTS: dict[str, tuple[str, ...]] = {
    "fit": (
        "algorithm/alternate.py", "algorithm/annealing.py", "algorithm/elimination.py",
        "algorithm/group.py", "algorithm/model.py", "algorithm/nmf.py", "algorithm/options.py",
        "algorithm/single.py", "algorithm/stopping.py", "algorithm/subspace.py",
        "arrays/levels.py", "arrays/portable.py", "divergences", "engines/array.py",
        "engines/base.py", "engines/converging.py", "engines/sums.py", "engines/blocked",
        "fit/data.py", "fit/engine.py", "fit/few_atoms.py", "fit/given.py", "fit/options.py",
        "fit/power.py", "fit/problem.py", "fit/restarts.py", "fit/seeds.py",
        "fit/transform_alone.py", "fit/weights.py", "inits", "linalg", "penalties", "solvers",
    ),
    "automatic": ("fit/automatic.py",),
    "prediction": ("fit/prediction.py", "fit/encode.py", "analysis/unseen.py"),
    "analysis": ("analysis",),
    "online": (
        "algorithm/statistics.py", "algorithm/window.py", "fit/blocks.py", "fit/online.py",
        "fit/online_options.py", "fit/stream.py",
    ),
    "tensors": ("tensors",),
    "device": ("engines/device", "arrays/precision.py"),
    "cluster": (
        "engines/held.py", "engines/remote/actor.py", "engines/remote/cluster.py",
        "engines/remote/engine.py", "engines/remote/journal.py", "engines/remote/message.py",
        "engines/remote/post.py", "engines/remote/tree.py",
    ),
    "disk": ("engines/remote/disk.py", "engines/remote/memory.py", "engines/remote/source.py"),
    "unmix": (
        "audio/example.py", "audio/frames.py", "result/masks.py", "unmixing/estimates.py",
        "unmixing/fits.py", "unmixing/learn.py", "unmixing/options.py", "unmixing/planning.py",
        "unmixing/separate.py", "unmixing/sums.py",
    ),
    "forecast": ("unmixing/budget.py", "unmixing/forecast.py"),
    "groups": ("unmixing/clustering.py", "unmixing/similarity.py"),
    "scores": ("scores/grouping.py", "scores/measures.py", "scores/oracles.py"),
    "studio": ("studio",),
    "estimator": ("estimator/encoding.py", "estimator/fitting.py", "estimator/tlnmf.py"),
}  # fmt: skip
#: Files and folders that decide no number: arguments, messages, files, pages, commands.
OTHERS = (
    "__main__.py", "_types.py", "api.py", "arrays/ahead.py", "arrays/cluster_tasks.py",
    "arrays/cluster_watch.py", "arrays/lazy.py", "arrays/streams.py", "arrays/threads.py",
    "audio/files.py", "audio/many_files.py", "audio/sample_format.py", "audio/sources.py",
    "audio/streams.py", "audio/writing.py", "checks.py", "cli", "engines/remote/connection.py",
    "engines/remote/devices.py", "estimator/callbacks.py", "estimator/model_file.py",
    "estimator/partial.py", "estimator/saved_stream.py", "estimator/validation.py",
    "fit/advice.py", "fit/checkpoint.py", "fit/description.py", "fit/devices.py", "fit/digest.py",
    "fit/outcome.py", "fit/printed.py", "fit/stored_run.py", "fit/stored_stream.py",
    "fit/stream_file.py", "once.py", "report", "result/atoms.py", "result/figure.py",
    "result/file.py", "result/history.py", "result/plots.py", "result/record.py",
    "result/result.py", "result/status.py", "result/summary.py", "result/terms.py",
    "scores/files.py", "scores/table.py", "storage.py", "stored_values.py", "transform_api.py",
    "unmix_api.py", "unmixed.py", "unmixing/carry.py", "unmixing/export.py", "unmixing/folder.py",
    "unmixing/groups.py", "unmixing/levels.py", "unmixing/mix.py", "unmixing/mixing.py",
    "unmixing/model.py", "unmixing/null_test.py", "unmixing/overview.py", "unmixing/ownership.py",
    "unmixing/placing.py", "unmixing/preview.py", "unmixing/record.py", "unmixing/saved_mix.py",
    "unmixing/sentences.py", "unmixing/told.py", "unmixing/typed_json.py", "warn.py",
)  # fmt: skip

#: What each script measures, by the beginning of the names of its results.
MEASURES: dict[str, tuple[str, ...]] = {
    "amounts": ("fit", "online"),
    "amounts_gpu": ("fit", "device"),
    "armstrong": ("fit",),
    "atoms": ("fit",),
    "automatic": ("fit", "automatic"),
    "beta": ("fit",),
    "choose": ("fit", "prediction", "unmix", "scores"),
    "cluster": ("fit", "cluster"),
    "defaults": ("fit",),
    "divergences": ("fit", "prediction"),
    "estimator": ("fit", "estimator"),
    "few_atoms": ("fit", "unmix", "scores"),
    "forecast": ("fit", "unmix", "forecast"),
    "fuzz": ("fit",),
    "gpu": ("fit", "tensors"),
    "gpu_stream": ("fit", "device"),
    "grouping": ("fit", "unmix", "groups", "scores"),
    "headline": ("fit",),
    "held_out": ("fit", "prediction"),
    "kernel": ("fit",),
    "online": ("fit", "online"),
    "out_of_core": ("fit", "disk"),
    "paper": ("fit", "analysis"),
    "reliability": ("fit",),
    "reproducible_atoms": ("fit", "analysis"),
    "scaling": ("fit",),
    "scaling_fit": ("fit", "cluster"),
    "scaling_forecast": ("fit", "cluster"),
    "scaling_model": ("fit", "cluster"),
    "schedules": ("fit",),
    "separation": ("fit", "unmix", "scores"),
    "smoothness": ("fit",),
    "sparsity": ("fit",),
    "starts": ("fit", "prediction"),
    "studio": ("fit", "unmix", "studio"),
    "unmix": ("fit", "unmix"),
}
#: Scripts of results that do not begin with the name of their script.
OTHER_SCRIPTS = {
    "scaling_fit": "scaling_model", "scaling_forecast": "scaling_model", "sparsity": "defaults",
}  # fmt: skip
MARK = "code:"  #: what comes before the hashes in the first line of a result


def parts_of(name: str) -> tuple[str, ...]:
    """Return the parts of the code that a result depends on, by its name."""
    known = [start for start in MEASURES if name == start or name.startswith(start + "_")]
    return MEASURES[max(known, key=len)]


def hash_of(part: str, package: Path = PACKAGE) -> str:
    """Return a hash of a part of the code."""
    found = hashlib.sha256()
    for entry in PARTS[part]:
        path = package / entry
        for file in files_of(path):
            found.update(f"{file.relative_to(package)}\n{essence(file.read_text())}\n".encode())
    return found.hexdigest()[:10]


def files_of(path: Path) -> list[Path]:
    """Return a file, or the modules of a folder."""
    return [path] if path.suffix else sorted(path.rglob("*.py"))


@cache
def essence(source: str) -> str:
    """Return what of a module can change a number."""
    return outline(Essence().visit(ast.parse(source)))


def outline(value: object) -> str:
    """Return a syntax tree as text that is the same in every version of Python.

    Newer versions add fields to some nodes; they are empty in code that is older than these fields.
    """
    if isinstance(value, list):
        return f"[{', '.join(map(outline, value))}]"
    if not isinstance(value, ast.AST):
        return repr(value)
    fields = [f"{name}={outline(x)}" for name, x in ast.iter_fields(value) if x not in (None, [])]
    return f"{type(value).__name__}({', '.join(fields)})"


class Essence(ast.NodeTransformer):
    """Removes docstrings, annotations, what errors say, and where imported names are."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        node.module = "" if (node.module or "").startswith("phinmf") else node.module
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return ast.Raise()


def stamp(name: str) -> str:
    """Return the end of the first line of a result: the hashes of the code of today."""
    return f"{MARK} " + " ".join(f"{part} {hash_of(part)}" for part in parts_of(name))


def split_line(line: str) -> tuple[str, dict[str, str]]:
    """Return the machine in the first line of a result, and the hash of each part of the code."""
    machine, _, hashes = line.removeprefix("# ").strip().partition(f"; {MARK}")
    return machine, dict(re.findall(r"(\w+) (\w+)", hashes))


def changed_parts(name: str, hashes: Mapping[str, str]) -> list[str]:
    """Return the parts of the code that are not those that a result was measured with."""
    return [part for part in parts_of(name) if hashes.get(part) != hash_of(part)]


def results() -> Iterator[tuple[str, Path]]:
    """Yield the name and the file of each result; those of the paper begin with `paper_`."""
    for path in sorted(RESULTS.glob("*.csv")):
        yield path.stem, path
    for path in sorted((ROOT / "docs" / "paper").glob("*.csv")):
        yield f"paper_{path.stem}", path


def older() -> dict[str, list[str]]:
    """Return the results that are older than the code, and the parts that have changed since."""
    found = {}
    for name, path in results():
        with path.open() as file:
            parts = changed_parts(name, split_line(file.readline())[1])
        if parts:
            found[name] = parts
    return found


def listed() -> list[str]:
    """Return the results that are known to be older than the code."""
    return [line for line in OLDER.read_text().splitlines() if line and line[0] != "#"]


def script_of(name: str) -> str:
    """Return the script that writes a result, below the root of the project."""
    if name.startswith("paper_"):
        return "paper/reproduce.py"
    if name.startswith("fuzz_"):
        return f"tests/fuzz/{name.removeprefix('fuzz_')}.py"
    if name in OTHER_SCRIPTS:
        return f"benchmarks/{OTHER_SCRIPTS[name]}.py"
    stems = [path.stem for path in (ROOT / "benchmarks").glob("[a-z]*.py")]
    known = [stem for stem in stems if name == stem or name.startswith(stem + "_")]
    return f"benchmarks/{max(known, key=len)}.py"


def write_older() -> None:
    """Write down which results are older than the code."""
    head = "# Results that are older than the code; written by benchmarks/_report.py.\n"
    OLDER.write_text(head + "".join(f"{name}\n" for name in older()))


def main() -> None:
    """Print which results are older than the code, or their scripts."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--scripts", action="store_true", help="print the scripts to run again")
    scripts = parser.parse_args().scripts
    found = older()
    if scripts:
        print(*sorted({script_of(name) for name in found}))
    else:
        for name, parts in found.items():
            print(f"{name}: {', '.join(parts)} changed since it was measured")


if __name__ == "__main__":
    main()
