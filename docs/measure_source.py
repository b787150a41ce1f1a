"""Print the size of source trees and how often they use Any: ``python docs/measure_source.py``."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Longest:
    """A function or a file, and its number of lines."""

    lines: int
    name: str

    def __str__(self) -> str:
        return f"{self.lines} ({self.name})"


@dataclass(frozen=True)
class Measures:
    """The measurements, which are printed one per row."""

    files: int
    lines: int
    functions: int
    any: int  #: uses of Any without its imports
    dict_str_any: int
    longest_function: Longest
    longest_body: Longest  #: without its signature and docstring
    longest_file: Longest
    files_over_250_lines: int


def measure(folder: Path) -> Measures:
    """Measure all Python files below a folder."""
    sources = {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*.py"))}
    trees = {name: ast.parse(text) for name, text in sources.items()}
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    found = [(name, f) for name, tree in trees.items() for f in functions(tree)]
    whole = [Longest(f.end_lineno - f.lineno + 1, f"{name}: {f.name}") for name, f in found]
    bodies = [Longest(body_lines(f), f"{name}: {f.name}") for name, f in found]
    files = [Longest(text.count("\n"), name) for name, text in sources.items()]
    return Measures(
        files=len(sources),
        lines=sum(file.lines for file in files),
        functions=len(found),
        any=sum(is_any(node) for node in nodes),
        dict_str_any=sum(ast.unparse(n) == "dict[str, Any]" for n in subscripts(nodes)),
        longest_function=max(whole, key=lambda one: one.lines),
        longest_body=max(bodies, key=lambda one: one.lines),
        longest_file=max(files, key=lambda one: one.lines),
        files_over_250_lines=sum(file.lines > 250 for file in files),
    )


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    """Return all functions and methods, nested ones included."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def body_lines(function: ast.FunctionDef) -> int:
    """Return the number of lines of a function after its signature and docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def is_any(node: ast.AST) -> bool:
    """Return whether a node is the name Any."""
    return isinstance(node, ast.Name) and node.id == "Any"


def subscripts(nodes: list[ast.AST]) -> Iterator[ast.Subscript]:
    """Return nodes such as ``dict[str, int]``."""
    return (node for node in nodes if isinstance(node, ast.Subscript))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, default=[ROOT / "src"])
    measured = [vars(measure(folder)) for folder in parser.parse_args().folders]
    for row in measured[0]:
        print(f"{row.replace('_', ' '):22}", *(f"{found[row]!s:45}" for found in measured))
