"""Write the notebooks from the examples: ``python examples/notebooks/make.py``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode, v4

HERE = Path(__file__).parent
NAMES = ("sound_to_atoms", "sound_to_parts", "denoising")


def main() -> None:
    """Write all notebooks."""
    for name in NAMES:
        (HERE / f"{name}.ipynb").write_text(notebook(name), encoding="utf-8")


def notebook(name: str) -> str:
    """Return the notebook of an example: its text and its code, without outputs."""
    book = v4.new_notebook(cells=list(cells((HERE.parent / f"{name}.py").read_text("utf-8"))))
    book.metadata["kernelspec"] = {
        "display_name": "Python 3", "language": "python", "name": "python3",
    }  # fmt: skip
    for number, cell in enumerate(book.cells):
        cell["id"] = f"{name}-{number}"  # nbformat would draw a random one
    return nbformat.writes(book) + "\n"


def cells(source: str) -> Iterator[NotebookNode]:
    """Yield the docstring and the comments after each ``# %%`` as text, and the rest as code."""
    docstring = ast.get_docstring(ast.parse(source))
    assert docstring is not None
    yield v4.new_markdown_cell(docstring)
    code_after_docstring = source.split('"""', 2)[2]
    for number, part in enumerate(code_after_docstring.split("\n# %%\n")):
        lines = part.strip().splitlines()
        n_text = 0
        while number > 0 and lines[n_text].startswith("#"):
            n_text += 1
        if n_text:
            yield v4.new_markdown_cell("\n".join(line[2:] for line in lines[:n_text]))
        yield v4.new_code_cell("\n".join(lines[n_text:]).strip())


if __name__ == "__main__":
    main()
