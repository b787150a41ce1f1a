"""The public names that the reference of the site lists, and what to do without Sphinx."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[1] / "docs/reference"
#: packages all of whose public names are in the reference
PUBLIC = (
    "phinmf",
    "phinmf.analysis",
    "phinmf.report",
    "phinmf.divergences",
    "phinmf.inits",
    "phinmf.solvers",
    "phinmf.engines",
    "phinmf.result",
)
#: packages of the extra docs
SITE = (
    "sphinx",
    "pydata_sphinx_theme",
    "numpydoc",
    "sphinx_gallery",
    "myst_parser",
    "latex2mathml",
)
TABLE = re.compile(r"currentmodule:: (\S+)\n.*?:nosignatures:\n\n(.*?)```", re.S)


def needs_sphinx():
    """Skip the module if a package of the extra docs is missing."""
    for package in SITE:
        pytest.importorskip(package)


def listed():
    """All names of the reference, with their modules, and what they stand for."""
    tables = [
        found for page in sorted(PAGES.glob("*.md")) for found in TABLE.findall(page.read_text())
    ]
    return {
        f"{module}.{name}": getattr(importlib.import_module(module), name)
        for module, names in tables
        for name in names.split()
    }


def described():
    """The names of the reference that have docstrings, and those of public members of classes."""
    for name, value in listed().items():
        if callable(value):
            yield name
        if inspect.isclass(value):
            kinds = (property, classmethod, staticmethod)
            for member, own in vars(value).items():
                if not member.startswith("_") and (
                    inspect.isfunction(own) or isinstance(own, kinds)
                ):
                    yield f"{name}.{member}"
