"""Docstrings are plain text for readers of the code; make them valid reStructuredText here."""

from __future__ import annotations

import re

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


def setup(app):
    """Connect, the escapes after numpydoc has read the sections."""
    app.connect("autodoc-process-docstring", escape_bars, priority=900)
    app.connect("autodoc-skip-member", skip_foreign)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
