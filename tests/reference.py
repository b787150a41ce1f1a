"""The public names that the reference of the site lists."""

import importlib
import re
from pathlib import Path

PAGES = Path(__file__).parents[1] / "docs/reference"
#: packages all of whose public names are in the reference
PUBLIC = (
    "phinmf",
    "phinmf.analysis",
    "phinmf.divergences",
    "phinmf.inits",
    "phinmf.solvers",
    "phinmf.engines",
    "phinmf.result",
)
TABLE = re.compile(r"currentmodule:: (\S+)\n.*?:nosignatures:\n\n(.*?)```", re.S)


def listed():
    """All names of the reference, with their modules, and what they stand for."""
    pages = sorted(PAGES.glob("*.md"))
    tables = [table for page in pages for table in TABLE.findall(page.read_text())]
    return {
        f"{module}.{name}": getattr(importlib.import_module(module), name)
        for module, names in tables
        for name in names.split()
    }
