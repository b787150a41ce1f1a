"""Docstrings are plain text for readers of the code; make them valid reStructuredText here."""

from __future__ import annotations

import re
import sys

from sphinx.pycode import ModuleAnalyzer
from sphinx.util.nodes import make_refnode

CODE = re.compile(r"(``.*?``)")


def escape_bars(app, what, name, obj, options, lines: list[str]) -> None:
    """Keep |x| an absolute value: between bars reStructuredText expects the name of a text."""
    for number, line in enumerate(lines):
        parts = CODE.split(line)
        parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
        lines[number] = "".join(parts)


def skip_foreign(app, what, name, obj, skip, options) -> bool | None:
    """Leave out what an estimator inherits from scikit-learn, or gets from it."""
    return True if str(getattr(obj, "__module__", "")).startswith("sklearn.") else None


def borrow_comment(app, what, name, obj, options, lines: list[str]) -> None:
    """Give data that a package imports the comment of the module that defines them."""
    package, _, attribute = name.rpartition(".")
    if what != "data":
        return
    for module in sorted(name for name in sys.modules if name.startswith(f"{package}.")):
        if getattr(sys.modules[module], attribute, None) is obj:
            comments = ModuleAnalyzer.for_module(module).find_attr_docs()
            lines[:] = comments.get(("", attribute), lines)


def link_class(app, env, node, contnode):
    """Link the name of a class without its module, if only one class of the reference has it."""
    name = node.get("reftarget")
    entries = [
        (full, entry)
        for full, entry in env.get_domain("py").objects.items()
        if entry.objtype == "class" and not entry.aliased and full.rpartition(".")[2] == name
    ]
    if node.get("refdomain") != "py" or len(entries) != 1:
        return None
    ((full, entry),) = entries
    builder, source = app.builder, node["refdoc"]
    return make_refnode(builder, source, entry.docname, entry.node_id, contnode, full)


def setup(app):
    """Connect, the escapes after numpydoc has read the sections."""
    app.connect("autodoc-process-docstring", borrow_comment, priority=400)
    app.connect("autodoc-process-docstring", escape_bars, priority=900)
    app.connect("missing-reference", link_class)
    app.connect("autodoc-skip-member", skip_foreign)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
