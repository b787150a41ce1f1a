"""Find which module of a source tree imports which, in every way to write an import.

Found are import statements anywhere in a file (in functions and under TYPE_CHECKING, too), names of
a package that is imported as a whole (``import phinmf``, then ``phinmf.tl_nmf``), and strings that
name a module, whatever they are given to (``importlib.import_module``, ``__import__``, a table);
of an f-string every module that its beginning allows. A module that finds data files of its own
package (``importlib.resources.files("phinmf.report")``) imports nothing: Python has imported the
package already.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

#: Functions that import what a string names.
BY_NAME = {"import_module", "__import__", "locate", "resolve_name", "find_spec"}
CONSTANTS = {"__version__"}  #: of the root package, which any module may read


@dataclass(frozen=True)
class Import:
    """One module of the tree uses another."""

    source: str
    target: str
    line: int
    late: bool  #: in a function or for a type checker only, not when the module is loaded


class Tree:
    """The modules of a package, by their dotted names; a package is its ``__init__.py``."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self.files: dict[str, Path] = {}
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder.parent).with_suffix("").parts
            self.files[".".join(p for p in parts if p != "__init__")] = path
        self.syntax = {name: ast.parse(path.read_text()) for name, path in self.files.items()}

    @cached_property
    def imports(self) -> list[Import]:
        """Every use of a module of the tree by another."""
        found = []
        for source, tree in self.syntax.items():
            late = set(nodes_run_late(tree))
            for dotted, node in self._names(source):
                target = self.resolved(dotted)
                if target not in (None, source):
                    found.append(Import(source, target, node.lineno, node in late))
        return found

    @cached_property
    def public(self) -> dict[str, str]:
        """The module that each name of the root package comes from."""
        return {
            alias.asname or alias.name: str(node.module)
            for node in self.syntax[self.name].body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }

    def resolved(self, dotted: str) -> str | None:
        """The module that a dotted name leads to; None for other packages and for constants."""
        parts = dotted.split(".")
        if parts[0] != self.name or dotted in {f"{self.name}.{c}" for c in CONSTANTS}:
            return None
        if len(parts) > 1 and ".".join(parts[:2]) not in self.files:
            return self.public.get(parts[1], self.name)
        while ".".join(parts) not in self.files:
            parts.pop()
        return ".".join(parts)

    def libraries(self, source: str) -> set[str]:
        """Dotted names that a file imports, by statement or by name, from other packages."""
        found = set()
        for node in ast.walk(self.syntax[source]):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found |= {f"{node.module}.{alias.name}" for alias in node.names}
            elif name := imported_by_name(node):
                found.add(name)
        return {name for name in found if name.split(".")[0] != self.name}

    @property
    def unreadable(self) -> set[str]:
        """Modules that import a module whose name is only in a variable."""
        return {
            source
            for source, tree in self.syntax.items()
            if any(imported_by_name(node) == "" for node in ast.walk(tree))
        }

    def _names(self, source: str) -> Iterator[tuple[str, ast.expr | ast.stmt]]:
        """Dotted names that a file imports or uses, and where."""
        tree = self.syntax[source]
        prose = {*docstrings(tree), *own_data(tree, source)}
        roots = {}  # what names in the file stand for, among them the root package
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    roots[alias.asname or self.name] = alias.name if alias.asname else self.name
                    if alias.name != self.name:
                        yield alias.name, node
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    yield f"{self._absolute(source, node)}.{alias.name}", node
            elif isinstance(node, ast.JoinedStr):
                yield from ((name, node) for name in self._beginning_like(node))
            elif isinstance(node, ast.Constant) and node not in prose:
                names = [name for name in self.files if name == node.value != self.name]
                yield from ((name, node) for name in names)
        for node in ast.walk(tree):
            first, _, rest = (dotted_name(node) or "").partition(".")
            if rest and first in roots and isinstance(node, ast.Attribute):
                yield f"{roots[first]}.{rest}", node

    def _beginning_like(self, node: ast.JoinedStr) -> list[str]:
        """Modules whose name begins as an f-string does."""
        first = node.values[0] if node.values else None
        text = str(first.value) if isinstance(first, ast.Constant) else ""
        is_name = text.startswith(f"{self.name}.") and text.replace(".", "").isidentifier()
        return [name for name in self.files if is_name and name.startswith(text)]

    def _absolute(self, source: str, node: ast.ImportFrom) -> str:
        """The module of ``from … import``, a relative one made absolute."""
        if not node.level:
            return str(node.module)
        is_package = self.files[source].name == "__init__.py"
        parts = source.split(".")
        kept = parts[: len(parts) - node.level + (1 if is_package else 0)]
        return ".".join([*kept, *([node.module] if node.module else [])])


def imported_by_name(node: ast.AST) -> str | None:
    """Return what a call of one of `BY_NAME` imports; "" if the name is only in a variable."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    if (dotted_name(node.func) or "").split(".")[-1] not in BY_NAME:
        return None
    argument = node.args[0]
    if isinstance(argument, ast.JoinedStr) and argument.values:
        argument = argument.values[0]
    return str(argument.value) if isinstance(argument, ast.Constant) else ""


def dotted_name(node: ast.AST) -> str | None:
    """``a.b.c`` as text, if a node is that and nothing else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted_name(node.value)
        return before and f"{before}.{node.attr}"
    return None


def docstrings(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield the strings that are statements."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def own_data(tree: ast.AST, source: str) -> Iterator[ast.Constant]:
    """Names of packages around a module, given to ``importlib.resources.files``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (dotted_name(node.func) or "").split(".")[-1] == "files":
            for given in node.args:
                if isinstance(given, ast.Constant) and source.startswith(f"{given.value}."):
                    yield given


def nodes_run_late(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield everything in functions and under TYPE_CHECKING."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from ast.walk(node)
        elif isinstance(node, ast.If) and (dotted_name(node.test) or "").endswith("TYPE_CHECKING"):
            for statement in node.body:
                yield from ast.walk(statement)


def cycle(edges: set[tuple[str, str]]) -> list[str]:
    """Return a cycle of modules that import each other; empty if there is none."""
    after: dict[str, set[str]] = {}
    for source, target in edges:
        after.setdefault(source, set()).add(target)
        after.setdefault(target, set())
    while leaves := {name for name, targets in after.items() if not targets}:
        after = {name: targets - leaves for name, targets in after.items() if name not in leaves}
    path: list[str] = []
    name = min(after, default=None)
    while name is not None and name not in path:
        path.append(name)
        name = min(after[name])
    return [] if name is None else [*path[path.index(name) :], name]
